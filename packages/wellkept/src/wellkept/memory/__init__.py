"""Memory: write path, recall, injected context, maintenance, export and import.

Imports `core` only; `app` passes in store and models through `engine.Engine`. Start with
`remember.py` (writing) and `recall/recall.py` (reading).
"""
