"""JSONL and Markdown export and import.

Start with `jsonl.py` (exact copies) or `markdown_export.py` (files for people); `conflicts.py` has
the merge rules.
"""
