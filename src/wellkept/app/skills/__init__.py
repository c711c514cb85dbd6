"""`wk.skills`: skills of the open project, with its store, settings and folders.

May import `app.settings`, `app.wiring` and the layers below. Start with `api.py`.
"""
