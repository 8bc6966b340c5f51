"""Write the table of server settings into docs/reference.md: `python docs/make/server_settings.py`.

Names, defaults and descriptions come from the classes `Server` and `Settings`. The table has the first clause of each
description; the API page has all of it.
"""

import ast
import inspect
import re
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

from matchbandit.cli.serve import serve
from matchbandit.service.server import Server
from matchbandit.service.settings import Settings, configurable, option_of, variable_of

PAGE = Path(__file__).parents[1] / "reference.md"
BEGIN, END = "<!-- settings: written by docs/make/server_settings.py -->", "<!-- end of settings -->"


def descriptions(kind: type) -> dict[str, str]:
    """Return the first clause of the docstring of each attribute of a class."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    described = {}
    for attribute, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr):
            sentences = " ".join(ast.literal_eval(text.value).split())
            described[ast.unparse(attribute.target)] = re.split(r"[.;](?: |$)", sentences)[0]
    return described


def default_of(each: Field[Any]) -> str:
    assert each.default is not MISSING
    if isinstance(each.default, bool):
        return "`1`" if each.default else "`0`"
    if isinstance(each.default, tuple):
        return "none"
    if isinstance(each.default, float):
        return f"`{each.default:g}`"
    return f"`{each.default}`"


def table() -> str:
    options = {option_of(name) for name in inspect.signature(serve).parameters}
    lines = ["| variable, option | default | meaning |", "|---|---|---|"]
    for kind in (Server, Settings):
        described = descriptions(kind)
        for each in configurable(kind):
            option = option_of(each.name)
            shown = f" `{option}`" if option in options else ""
            lines.append(f"| `{variable_of(each)}`{shown} | {default_of(each)} | {described[each.name]} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return the page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
