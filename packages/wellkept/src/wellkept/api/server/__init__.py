"""What HTTP and MCP share: running, authorisation, threads, errors. Open `run.py` first."""
