"""One module per noun; each function is one command, loaded when it is run."""
