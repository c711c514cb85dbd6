"""Commands that import, export, back up and restore. Open `export_import.py` first."""
