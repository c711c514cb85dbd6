"""`wk.graph` and `wk.code`: the code graph and code search of a project folder.

Open `api.py` first. May import `codegraph`, `memory`, `observe` and `app.projects`. No module here
imports `api`.
"""
