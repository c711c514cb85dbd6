"""Teams: who asks and with which role. Open `people.py` first."""
