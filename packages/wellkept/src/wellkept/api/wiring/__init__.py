"""Connects settings, project, store and models into `Services`, and loads plugins.

Start with `services.py`. May import `core.settings` and `project`; never `api.wellkept`.
"""
