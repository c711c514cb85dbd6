"""MCP server: tools, resources and prompts. Open `server.py` first."""
