"""Wellkept for teams: PostgreSQL, people and roles, sync, sharing, moving.

Open `plugin.py` first: it names what this adds to `wellkept`, then `postgres/store.py`.
"""
