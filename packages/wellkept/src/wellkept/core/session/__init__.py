"""Records of a session: events, steps, scratchpad, activity."""
