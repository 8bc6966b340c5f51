"""Playback: record a policy's play, in a simulation or its own, and show it as a picture or a page."""

from matchbandit.lab.playback.frames import Frame
from matchbandit.lab.playback.record import Recorder, Recording, watch

__all__ = ["Frame", "Recorder", "Recording", "watch"]
