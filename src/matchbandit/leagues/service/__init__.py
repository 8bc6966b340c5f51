"""The HTTP API, its client and the dashboard."""
