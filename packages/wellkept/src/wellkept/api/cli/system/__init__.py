"""Maintenance, health check and settings. Open `maintenance.py` first."""
