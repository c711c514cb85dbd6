"""What words alone can tell: commands, secrets, dates, likeness. Standard library only."""
