"""Playback: record a policy's play, in a simulation or its own, and show it as a picture or a page."""

from matchbandit.lab.playback.record import Frame, Recorder, Recording, watch, watch_log

__all__ = ["Frame", "Recorder", "Recording", "watch", "watch_log"]
