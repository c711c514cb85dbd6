"""Selects the skills that fit a project and a prompt, and renders them.

Start with `select.py`.
"""
