"""Source tree -> symbols, edges, impact. Knows no memory records, no SQL and no models."""
