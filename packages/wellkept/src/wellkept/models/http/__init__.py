"""HTTP client for model servers, and typed reading of JSON responses. Open `client.py`."""
