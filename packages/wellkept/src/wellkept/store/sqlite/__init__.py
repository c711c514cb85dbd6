"""The SQLite engine: one file, several processes, no server.

Open `store.py` first: `SqliteStore` combines one class per port, each over a `Database`.
`database` connections and errors; `apply_changes` writes; `search` full text, trigrams, vectors;
`maintenance` check, repair, backup, restore; `graph_store` the code graph. What both engines store
alike is in `store.tables`.
"""
