"""Operations shared by HTTP and MCP. Open `table.py` first. Knows no transport."""
