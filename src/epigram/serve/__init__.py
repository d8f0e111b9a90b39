"""The studio: a web server that offers models in a browser and over HTTP.

``epigram serve`` starts it. :func:`~epigram.serve.app.build` returns the ASGI application for other servers.
"""
