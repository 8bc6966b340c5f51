"""Pictures and claims on one page."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Protocol

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; vertical-align: top; }
tr { border-bottom: 1px solid #ddd; } img { width: 100%; max-width: 46rem; } small { color: #555; }
"""


class Judged(Protocol):
    """A claim with its verdict."""

    @property
    def where(self) -> str: ...  # noqa: D102
    @property
    def claim(self) -> str: ...  # noqa: D102
    @property
    def measured(self) -> str: ...  # noqa: D102
    @property
    def verdict(self) -> str: ...  # noqa: D102


def write_page(path: Path, pictures: Sequence[Path], claims: Sequence[Judged], *, note: str, source: str) -> Path:
    """Write an HTML page that shows the pictures and the claims, and give its path."""
    lines = [
        f"<tr><td>{escape(c.where)}</td><td>{escape(c.claim)}</td><td>{escape(c.measured)}</td>"
        f"<td><b>{escape(c.verdict)}</b></td></tr>"
        for c in claims
    ]
    images = [
        f'<h2>{escape(p.stem)}</h2><img src="{escape(p.name)}" alt="figure {escape(p.stem)}">'
        f'<p><a href="{escape(p.with_suffix(".pdf").name)}">{escape(p.stem)} as PDF</a></p>'
        for p in pictures
    ]
    path.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>matchbandit: the paper reproduced</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"<h1>The paper's figures, reproduced</h1>"
        f"<p>Lines and bands: mean and 5–95 % range of our runs, where instances are random each on a fresh one "
        f"({escape(note)}). "
        f"Circles: the published numbers.</p>"
        f"<table><tr><th>where</th><th>claim</th><th>measured</th><th>verdict</th></tr>{''.join(lines)}</table>"
        f"{''.join(images)}<p><small>{escape(source)}</small></p></body></html>\n",
        encoding="utf-8",
    )
    return path
