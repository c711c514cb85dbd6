"""The SQLite engine: one file, several processes, no server.

`store.SqliteStore` is the engine; each of its parts implements one port over a `Database`.
"""
