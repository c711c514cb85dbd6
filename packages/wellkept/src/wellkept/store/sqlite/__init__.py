"""The SQLite engine: one file, several processes, no server.

Open `store.py` first: `SqliteStore` combines one class per port, each over a `Database`.
`connection` connections and errors; `tables` rows and changes; `search` full text, trigrams,
vectors; `maintenance` check, repair, backup, restore; `graph` the files of the code graph.
"""
