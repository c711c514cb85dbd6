"""Settings: their rules, their sources, and where files are kept. Open `model.py` first."""
