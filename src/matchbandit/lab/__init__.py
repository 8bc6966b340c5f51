"""The laboratory: studies and their reports, the paper's figures, playback of runs, and replay of logs.

What simulates, solves or draws is below, in the library; leagues are beside it, and neither knows the other.
"""
