"""What an operator sees of a running server: request log, Prometheus metrics, OpenTelemetry traces.

Open `requests` first. Invariant: routes, status codes, ids and times only; no content of a memory,
no key, no path of a request.
"""
