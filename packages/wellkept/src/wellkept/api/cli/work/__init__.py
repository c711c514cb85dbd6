"""Sessions, observer and methodology. Open `observer.py` first."""
