"""`matchbandit serve`: leagues over HTTP. Its options are the settings of the server."""

import inspect
import os
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from matchbandit.cli.league.parameters import store_url
from matchbandit.errors import MatchbanditError
from matchbandit.extras import need


class ServeCommand(TyperCommand):
    """A command with an option for each setting; they are read when it is called, so that other commands are quick."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the settings, and --help."""
        for module in ("sqlalchemy", "fastapi", "fastapi_offline", "uvicorn", "prometheus_client", "jinja2"):
            need(module, "the service")
        from matchbandit.leagues.service.settings import Settings

        def options(**_: Any) -> None:
            """Only its parameters are used."""

        parameters = []
        for name, field in Settings.model_fields.items():
            kind: Any = bool if field.annotation is bool else str
            metavar = None if kind is bool else {int: "INTEGER", float: "NUMBER"}.get(type(field.default), "TEXT")
            option = typer.Option(help=f"{field.description} [{field.default}]", metavar=metavar)
            annotation = Annotated[kind | None, option]
            parameters.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            )
        options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app = typer.Typer(add_completion=False)
        app.command()(options)
        return [*typer.main.get_command(app).params, *super().get_params(ctx)]

    def invoke(self, ctx: Any) -> None:
        """Run the server with the options that were given; the others are those of the environment."""
        from pydantic import ValidationError

        from matchbandit.leagues.service.app import serve
        from matchbandit.leagues.service.settings import Settings

        for variable in os.environ:
            prefix, _, name = variable.partition("MATCHBANDIT_")
            near = get_close_matches(name.lower(), Settings.model_fields, n=1, cutoff=0.7)
            if not prefix and near and name.lower() != near[0]:  # a program of one's own may have others
                raise MatchbanditError(f"unknown variable {variable}; did you mean MATCHBANDIT_{near[0].upper()}?")
        try:
            settings = Settings(**{name: value for name, value in ctx.params.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            option = f"--{name.replace('_', '-')}, or MATCHBANDIT_{name.upper()}"
            raise MatchbanditError(f"{option}: {first['msg']}; got {first['input']!r}.") from None
        settings.store = store_url(settings.store)
        serve(settings)


def serve() -> None:
    """Serve leagues: an API, its documentation, a dashboard.

    The API is JSON over HTTP below /v1, and documented at /docs. The log is JSON on stderr, one line per request. TERM
    and Ctrl-C stop the server after it has answered the requests in progress. Every option also has an environment
    variable, such as MATCHBANDIT_PORT.
    """
