"""Keeps what was learned in step with the tree: renames, staleness."""
