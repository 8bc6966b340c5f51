"""Policies that play one pair a round."""
