"""`wellkept agent` and `wellkept chat`."""
