"""Pages and searches of the web, without access to private networks."""
