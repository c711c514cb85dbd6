"""`python -m wellkept.cli` is the `wellkept` command."""

from wellkept.cli import main

main()
