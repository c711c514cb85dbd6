"""Finds skills: folders, plugins, list files, remote copies, the store, MCP prompts.

May import `core` and `skills.documents`. Start with `catalog.py`, then `scanner.py`.
"""
