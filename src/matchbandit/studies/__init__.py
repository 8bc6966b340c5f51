"""Studies: policies on problems as data; run, store, resume, compare and report them."""

from matchbandit.studies.folder import StudyFolder
from matchbandit.studies.points import Point
from matchbandit.studies.replay import Replay, propose, replay
from matchbandit.studies.report import report
from matchbandit.studies.reproduce import Reproduction, reproduce
from matchbandit.studies.study import Study

__all__ = ["Point", "Replay", "Reproduction", "Study", "StudyFolder", "propose", "replay", "report", "reproduce"]
