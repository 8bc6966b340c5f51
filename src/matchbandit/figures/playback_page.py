"""Render a playback as a page: one HTML file that needs no network, drawn with Apache ECharts."""

from dataclasses import asdict
from html import escape
from importlib.resources import files
from math import isfinite
from typing import Any

from matchbandit.figures.page import ECHARTS, bundle_scripts, self_contained
from matchbandit.figures.panels import Playback, RowMark, RowsPanel

_SPEEDS = ("0.25", "0.5", "1", "2", "4")


def playback_page(playback: Playback) -> str:
    """Return the page as HTML."""
    folder = files("matchbandit.figures")
    names = ("watch_panels.js", "watch.js", "watch.css")
    panels, player, style = (folder.joinpath(name).read_text("utf-8") for name in names)
    data = playback_data(playback)
    return self_contained(
        playback.title, _body(playback), data=data, script=bundle_scripts(panels, player), style=style
    )


def playback_data(playback: Playback) -> dict[str, Any]:
    """Return the playback as JSON data, with numbers rounded to four digits."""
    plays = playback.plays
    shares = [playback.played_between(max(0, k - 1), k) for k in range(len(playback.frames))]
    grid = {
        "rows": plays.rows,
        "columns": plays.columns,
        "rowLabel": plays.row_label,
        "columnLabel": plays.column_label,
        "cells": plays.cells,
        "names": plays.names,
        "means": plays.means,
        "best": plays.best,
        "outlined": plays.outlined,
        "shares": [[(pair, share) for pair, share in enumerate(of_frame) if share] for of_frame in shares],
    }
    data = {
        "frames": [asdict(frame) for frame in playback.frames],
        "story": asdict(playback.story),
        "regret": asdict(playback.regret),
        "estimates": _rows_data(playback.estimates),
        "evidence": None if playback.evidence is None else _rows_data(playback.evidence),
        "decisions": None if playback.decisions is None else asdict(playback.decisions),
        "plays": grid,
    }
    rounded: dict[str, Any] = _rounded(data)
    return rounded


def _rows_data(panel: RowsPanel) -> dict[str, Any]:
    """Return a panel of rows; names and colours once, for most frames have the same ones."""
    names = list(dict.fromkeys((mark.name, mark.colour) for rows in panel.frames for mark in rows))
    number = {name: k for k, name in enumerate(names)}

    def row(mark: RowMark) -> list[Any]:
        numbers = [mark.estimate, mark.low, mark.high, mark.tick]
        return [number[mark.name, mark.colour], *numbers, int(mark.active), mark.text]

    return {
        "title": panel.title,
        "x_label": panel.x_label,
        "x_range": panel.x_range,
        "hollow": panel.hollow,
        "names": names,
        "frames": [[row(mark) for mark in rows] for rows in panel.frames],
    }


def _rounded(value: Any) -> Any:
    """Round all numbers to what is visible; None for those that are not finite."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value


def _body(playback: Playback) -> str:
    speeds = "".join(f'<option value="{s}"{" selected" * (s == "1")}>{s}×</option>' for s in _SPEEDS)
    estimates, plays, evidence, decisions = playback.estimates, playback.plays, playback.evidence, playback.decisions
    return f"""<header><h1>{escape(playback.title)}</h1><p class="lead">{escape(playback.lead)}</p>
<p class="note">{escape(playback.caption)}.</p>
<noscript><p>This page needs scripts; the picture beside it shows the same run.</p></noscript></header>
<main id="main">
<section class="player" aria-label="Player">
<p class="numbers"><span>round <b id="round"></b></span><span>regret <b id="regret-now"></b></span>
<span id="window"></span></p>
<p id="sentence" aria-live="polite"></p>
<div class="controls">
<button type="button" id="first" aria-label="First frame">«</button>
<button type="button" id="previous-event" aria-label="Previous event">‹ event</button>
<button type="button" id="back" aria-label="Previous frame">‹</button>
<button type="button" id="play">Play</button>
<button type="button" id="forward" aria-label="Next frame">›</button>
<button type="button" id="next-event" aria-label="Next event">event ›</button>
<button type="button" id="last" aria-label="Last frame">»</button>
<label>Speed <select id="speed">{speeds}</select></label>
<label class="track">Time <input type="range" id="time" min="0" max="{len(playback.frames) - 1}" step="1" value="0">
</label>
</div>
<p class="note keys">Keys: space plays and pauses, ← and → move by one frame, shift + ← and → by one event.</p>
</section>
<section><h2>{escape(playback.story.title)}</h2><div id="story" class="drawing"></div></section>
{_decisions(decisions.title, decisions.note) if decisions else ""}
<div class="two">
<section><h2>{escape(estimates.title)}</h2><p class="note">{escape(estimates.note)}</p>
<div id="estimates" class="drawing"></div></section>
<section><h2>{escape(plays.title)}</h2><p class="note">{escape(plays.note)}</p>
<div id="plays" class="drawing"></div></section>
</div>
{_section("evidence", evidence.title, evidence.note) if evidence else ""}
{_section("regret", playback.regret.title, "")}
<section id="events-section"><h2>Events</h2><p class="note">Choose an event to go there.</p>
<ol id="events"></ol></section>
</main>
<footer><p>{escape(playback.versions)}. One simulated run; another seed gives another run.</p>
<p>{ECHARTS}</p></footer>"""


def _section(name: str, title: str, note: str) -> str:
    note = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section><h2>{escape(title)}</h2>{note}<div id="{name}" class="drawing"></div></section>'


def _decisions(title: str, note: str) -> str:
    return f"""<section><h2>{escape(title)}<span id="decided-at"></span></h2><p class="note">{escape(note)}</p>
<ul id="decision-texts"></ul><div id="decisions" class="drawing"></div></section>"""
