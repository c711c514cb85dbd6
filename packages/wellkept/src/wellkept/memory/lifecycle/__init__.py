"""Maintenance of stored memories: decay, pruning, compaction, staleness, confidence.

Start with `maintenance.py`, which runs the passes; every pass returns the report of `report.py` and
can be previewed with `dry_run`.
"""
