"""MCP servers as tools of an agent: `mcp:server:tool`, over the official client.

Open `toolset` first. `config` reads server tables (`.mcp.json` and the user's own), `connection`
keeps one server alive, `capability` ties servers to a session and makes their prompts usable as
skills. What a server says of itself is not trusted:
names are checked, texts and schemas bounded, and a server that comes with a project starts only
after a person's yes. Nothing is imported here: the client takes a second to load, and most sessions
have no server.
"""
