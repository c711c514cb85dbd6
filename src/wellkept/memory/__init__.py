"""Remember, recall, forget: what is known, how it is found, how it ages. Knows no SQL."""
