"""Ways of working: how each names its phases, its units of work and what is handed on."""
