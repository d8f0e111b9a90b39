"""Pages of models: folders of static files that run a model in a browser, without a server.

``hatch_build.py`` makes ``core.wasm`` and ``epigram.mjs`` when the package is built, from the C core and ``js/src``.
"""
