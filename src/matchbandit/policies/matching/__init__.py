"""Policies that play a whole matching a round."""
