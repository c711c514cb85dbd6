"""Keeps a store healthy: maintenance runs, stale marks, reindex, doctor, restore.

Start with `run.py`. The rules for single memories are in `wellkept.memory.lifecycle`.
"""
