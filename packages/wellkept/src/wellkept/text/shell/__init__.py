"""Reads shell command lines: what they run, touch and answer."""
