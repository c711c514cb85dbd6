"""Text analysis: dates in queries, similarity of statements, detection of secrets.

Imports `core` only. Rules are TOML files in `data/`. Start with `redaction.py`, `dates.py` or
`similarity.py`.
"""
