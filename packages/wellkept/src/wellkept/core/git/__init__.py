"""Reads git: commands, configuration, repositories, addresses."""
