"""JSONL and Markdown export and import.

Imports `core` and the rest of `memory`. Start with `jsonl.py` (exact copies) or
`markdown_export.py` (files for people); `conflicts.py` has the merge rules.
"""
