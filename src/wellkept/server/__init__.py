"""What other programs ask of a memory: one table of operations, and the servers made from it.

`operations` is the table; `mcp_server` serves it to coding clients. Nothing here knows SQL or how
a memory ranks: an operation says what it takes, what it gives, and which verb of `Wellkept` it is.
"""
