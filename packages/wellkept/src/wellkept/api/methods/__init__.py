"""The methods of `Wellkept`, one module per group."""
