"""Reads SKILL.md documents as `Skill` records.

May import `core` and `skills.safe_paths`. Start with `reader.py`.
"""
