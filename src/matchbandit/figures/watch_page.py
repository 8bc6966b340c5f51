"""A film as a page that moves: one HTML file, no network, plain SVG drawn by a script."""

from html import escape
from importlib.resources import files
from math import isfinite
from typing import Any

from matchbandit.figures.film import Film, Frame, blend, colours_of, highest, lost, standing
from matchbandit.figures.page import self_contained

_SHADES = 41
_SPEEDS = ("0.25", "0.5", "1", "2", "4")


def film_page(film: Film) -> str:
    """The page as HTML."""
    here = files("matchbandit.figures")
    script, style = (here.joinpath(name).read_text("utf-8") for name in ("watch.js", "watch.css"))
    return self_contained(film.title, _body(film), data=plain(film), script=script, style=style, charts=False)


def plain(film: Film) -> dict[str, Any]:
    """The film as JSON data, rounded to what can be seen."""
    names = sorted({link.name for frame in film.frames for link in frame.links})
    number = {name: k for k, name in enumerate(names)}
    lives = [film.lives(k) for k in range(len(film.items))] if film.story == "lives" else []
    befores = zip((None, *film.frames), film.frames, strict=False)
    return {
        "story": film.story,
        "truth": film.truth if not film.of_pairs else "true mean",
        "titles": {"story": film.headline, "links": "Evidence", "estimates": "What it knows", "plays": "Plays"},
        "items": [
            {
                "name": item.name,
                "side": item.side,
                "number": item.number,
                "truth": _short(item.truth),
                "tick": _short(tick),
                "colour": colour,
            }
            for item, tick, colour in zip(film.items, film.ticks, colours_of(film), strict=True)
        ],
        "scale": [blend(k / (_SHADES - 1)) for k in range(_SHADES)],
        "pairs": film.pairs,
        "means": [_short(mean) for mean in film.means],
        "best": film.best,
        "shown": film.shown,
        "lines": film.lines,
        "ofPairs": film.of_pairs,
        "stale": film.stale,
        "range": [0, _short(highest(film))],
        "windows": film.windows,
        "lives": lives,
        "standing": standing(film) if film.story == "clusters" else [],
        "links": names,
        "frames": [_frame(frame, before, number) for before, frame in befores],
    }


def _frame(frame: Frame, before: Frame | None, number: dict[str, int]) -> dict[str, Any]:
    rounds = max(1, frame.round - (0 if before is None else before.round))
    shares = [(pair, round(1000 * count / rounds, 1)) for pair, count in enumerate(frame.played) if count]
    return {
        "round": frame.round,
        "regret": _short(frame.regret),
        "lost": lost(frame.regret),
        "sentence": frame.sentence,
        "event": frame.event,
        "items": [[int(i.active), i.samples, *map(_short, (i.estimate, i.low, i.high))] for i in frame.items],
        "pairs": [[p.plays, *map(_short, (p.estimate, p.low, p.high))] for p in frame.pairs],
        "clusters": [[cluster.players, cluster.chain] for cluster in frame.clusters],
        "links": [[number[k.name], _short(k.evidence), _short(k.threshold), int(k.certified)] for k in frame.links],
        "beaten": [[gone.item, gone.by, gone.on, int(gone.leaves)] for gone in frame.beaten],
        "window": frame.window,
        "played": [value for pair, share in shares for value in (pair, int(share) if share == int(share) else share)],
        "guess": frame.guess,
        "done": frame.done,
    }


def _short(value: float | None) -> float | None:
    """Four digits; nothing where there is no number."""
    return float(f"{value:.4g}") if value is not None and isfinite(value) else None


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _body(film: Film) -> str:
    speeds = "".join(f'<option value="{s}"{" selected" * (s == "1")}>{s}×</option>' for s in _SPEEDS)
    drawn = film.truth if not film.of_pairs else "true mean"
    where = "The upright tick" if film.of_pairs or film.ticks[0] is not None else "The tick at the right"
    known = film.interval or "its estimates" if film.has_estimates else "this policy reports no estimates"
    links = any(frame.links for frame in film.frames)
    evidence = (
        '<section><h2>The proof so far</h2><p class="note">The evidence for each link, on a log scale, and what is '
        'needed.</p><div id="links" class="drawing"></div></section>'
    )
    return f"""<header><h1>{escape(film.title)}</h1><p class="lead">{escape(film.lead)}</p>
<p class="note">{escape(film.caption)}.</p>
<noscript><p>This page moves with a script; the picture beside it shows the same run.</p></noscript></header>
<main id="main">
<section class="player" aria-label="Player">
<p class="numbers"><span>round <b id="round"></b></span><span>regret <b id="lost"></b></span>
<span id="window"></span></p>
<p id="sentence" aria-live="polite"></p>
<div class="controls">
<button type="button" id="first" aria-label="To the beginning">«</button>
<button type="button" id="back" aria-label="One frame back">‹</button>
<button type="button" id="play">Play</button>
<button type="button" id="on" aria-label="One frame on">›</button>
<button type="button" id="last" aria-label="To the end">»</button>
<label>Speed <select id="speed">{speeds}</select></label>
<label class="track">Time <input type="range" id="time" min="0" max="{len(film.frames) - 1}" step="1" value="0"></label>
</div>
</section>
<section><h2>{escape(film.headline)}</h2><div id="story" class="drawing"></div></section>
<div class="two">
<section><h2>What it knows now</h2>
<p class="note">{escape(_sentence(known))}. {where} is the {escape(drawn)}: you know it, the
policy does not.</p><div id="estimates" class="drawing"></div></section>
<section><h2>Pairs played since the last frame</h2>
<p class="note">Strong colour: in every round. Framed: its best guess now. With a dot: the truly best.</p>
<div id="plays" class="drawing"></div></section>
</div>
{evidence if links else ""}
<section><h2>Regret so far</h2><div id="regret" class="drawing"></div></section>
<section id="happened"><h2>What happened</h2><p class="note">Choose a moment to go there.</p>
<ol id="events"></ol></section>
</main>
<footer><p>{escape(film.versions)}. One run of a simulation; another seed tells another story.</p></footer>"""
