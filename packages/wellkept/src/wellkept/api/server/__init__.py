"""HTTP and MCP servers, generated from one table of operations.

May import `app` and the layers below it. Contains no SQL and no ranking. Open `operations/table.py`
first: each operation has an input, an output and the function of `Wellkept` it calls.
"""
