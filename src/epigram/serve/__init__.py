"""The studio: models in a browser and over HTTP, for people and for programs.

``epigram serve`` starts it. :func:`~epigram.serve.app.build` makes the ASGI application for other servers.
"""
