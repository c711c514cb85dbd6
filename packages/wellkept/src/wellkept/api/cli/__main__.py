"""`python -m wellkept.api.cli` is the `wellkept` command."""

from wellkept.api.cli import main

main()
