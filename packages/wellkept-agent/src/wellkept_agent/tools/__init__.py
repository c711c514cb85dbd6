"""Tools of the agent: what a tool is (`base`), the registry, and one module per tool."""
