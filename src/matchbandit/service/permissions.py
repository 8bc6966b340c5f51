"""May this token do this? The one check of every route, and the words of its refusal."""

from matchbandit.service.problems import ApiError
from matchbandit.service.tokens import Token

_ACTIONS = {
    "read": "look at them",
    "play": "ask and tell",
    "admin": "change who takes part, the rules, the names or the league itself",
}


def require(token: Token, scope: str, slug: str) -> None:
    """Refuse a token that does not allow this much in this league; of a league it does not open it learns nothing."""
    if not token.sees(slug):
        raise unknown_league(slug)
    if not token.may(scope, slug):
        raise not_allowed(token, scope)


def require_all(token: Token, scope: str, *, action: str) -> None:
    """Refuse a token that does not allow this much in all leagues, for what is not of one league."""
    if not token.may(scope):
        raise ApiError(
            "not-allowed", f"to {action} takes a token with the scope {scope} for all leagues; {token.id} is not one."
        )


def unknown_league(slug: str) -> ApiError:
    """The same words whether there is no such league or the token does not open it."""
    return ApiError("unknown-league", f"the token opens no league {slug[:64]!r}.")


def not_allowed(token: Token, scope: str) -> ApiError:
    """The refusal of a scope that is too small."""
    where = "all leagues" if token.leagues is None else f"the leagues {', '.join(token.leagues)}"
    return ApiError(
        "not-allowed",
        f"the token {token.id} has the scope {token.scope} in {where}; to {_ACTIONS[scope]} there takes {scope}.",
    )
