"""Records of the agent runtime: messages, the events of a session, and its transcript."""
