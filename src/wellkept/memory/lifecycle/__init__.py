"""How memories age: fading, pruning, merging, going stale, and confidence along relations."""
