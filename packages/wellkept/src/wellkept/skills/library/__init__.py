"""`wk.skills`: skills of the open project, with its store, settings and folders.

May import `core.settings`, `api.wiring` and the layers below. Start with `api.py`.
"""
