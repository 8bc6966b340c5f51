"""Learn whom to pair with whom: the algorithms of matching bandits, right and fast."""
