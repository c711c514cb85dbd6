"""Maintenance of stored memories: decay, pruning, compaction, staleness, confidence.

Imports `core` and the rest of `memory`. Start with `maintenance.py`, which runs the passes; every
pass returns the report of `report.py` and can be previewed with `dry_run`.
"""
