"""The PostgreSQL engine: one server for a team, with pgvector.

Open `store.py` first: `PostgresStore` combines one class per port, each over a `Database`.
`connection` pool and errors; `tables` rows and changes; `search` full text, fragments, vectors;
`maintenance` check, repair, copies. Every statement names its tenant. Needs the extra `postgres`.
"""
