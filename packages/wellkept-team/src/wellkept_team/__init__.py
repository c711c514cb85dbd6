"""Wellkept for teams: PostgreSQL, people and roles, sync, sharing, moving."""
