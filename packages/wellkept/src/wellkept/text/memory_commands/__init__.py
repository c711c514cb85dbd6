"""Commands to the memory in a person's own words."""
