"""Maintenance of stored memories: decay, pruning, compaction, staleness, confidence.

Start with `report.py`: it runs the passes and has the report that each returns. `dry_run` previews.
"""
