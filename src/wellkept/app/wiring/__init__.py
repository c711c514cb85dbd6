"""Connects settings, project, store and models into `Services`, and loads plugins.

Start with `services.py`. May import `app.settings` and `app.projects`; never `app.wellkept`.
"""
