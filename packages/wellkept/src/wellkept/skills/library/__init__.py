"""`wk.skills`: skills of the open project, with its store, settings and folders.

Start with `api.py`.
"""
