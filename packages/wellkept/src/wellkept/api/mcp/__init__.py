"""MCP server: tools, resources and prompts. Open `api.server.py` first."""
