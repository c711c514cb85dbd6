"""Connects settings, project, store and models into `Services`, and loads plugins.

Start with `services.py`. Never imports `api.wellkept`.
"""
