"""Edit client settings: add and remove hooks, the MCP server and slash commands.

Open `installer.py` first, then `client_files.py`: which files each client has.
"""
