"""`python -m holdfast.cli` is the `holdfast` command."""

from holdfast.cli import main

main()
