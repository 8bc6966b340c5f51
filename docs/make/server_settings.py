"""Write the table of server settings into docs/reference.md: `python docs/make/server_settings.py`.

Names, defaults and descriptions come from the class `Settings`.
"""

from pathlib import Path

from matchbandit.leagues.service.settings import Settings

PAGE = Path(__file__).parents[1] / "reference.md"
BEGIN, END = "<!-- settings: written by docs/make/server_settings.py -->", "<!-- end of settings -->"


def table() -> str:
    """Return the table: option, default, description."""
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        option, default = name.replace("_", "-"), field.default
        options, value = f"`--{option}`", f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
        if isinstance(default, bool):
            options, value = f"`--{option}`, `--no-{option}`", f"`{int(default)}`"
        lines.append(f"| {options} | {value} | {' '.join((field.description or '').split()).rstrip('.')} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return the page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
