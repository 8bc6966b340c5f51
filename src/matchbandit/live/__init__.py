"""Leagues of named items: whom to pair today, what came back, and why; kept safe, explained, never forgotten."""
