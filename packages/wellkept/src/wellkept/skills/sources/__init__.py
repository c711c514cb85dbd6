"""Finds skills: folders, plugins, list files, remote copies, the store, MCP prompts.

Start with `catalog.py`, then `scanner.py`.
"""
