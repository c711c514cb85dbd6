"""Commands on single memories. Open `remember.py` or `recall.py` first."""
