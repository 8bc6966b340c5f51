"""Leagues over HTTP: a JSON API, a dashboard, and the keys to both."""
