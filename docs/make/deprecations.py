"""Write the table of deprecated names into the page that has its markers: `python docs/make/deprecations.py`.

The names come from `matchbandit.deprecation`.
"""

from pathlib import Path

from matchbandit.deprecation import REMOVED, RENAMED

DOCS = Path(__file__).parents[1]
BEGIN, END = "<!-- deprecations: written by docs/make/deprecations.py -->", "<!-- end of deprecations -->"


def table() -> str:
    lines = ["| deprecated | use instead |", "|---|---|"]
    return "\n".join(lines + [f"| `{old}` | `{new}` |" for old, new in (RENAMED | REMOVED).items()])


def with_table(page: str) -> str:
    """Return the page with a table that is up to date."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def pages() -> list[Path]:
    """Return the pages that have the table."""
    return [page for page in sorted(DOCS.glob("*.md")) if BEGIN in page.read_text(encoding="utf-8")]


if __name__ == "__main__":
    for page in pages():
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page)
