"""What people see of a project and do with it: health, facets, review, undo, map, storage.

Reads through the ports and the parts of `Wellkept`; the page, the CLI and MCP show the same
records. Start with `health.py`.
"""
