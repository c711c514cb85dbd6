"""A team's memories as files in its repository. Open `take_in.py` first."""
