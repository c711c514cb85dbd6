"""Commands by topic. `cli.root` maps names to modules, imported when the command runs."""
