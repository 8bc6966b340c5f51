"""What forms do: log in and out, propose, tell, correct, void, change who takes part and the rules.

Each ends with a new page to go to, so that loading it again does nothing twice; a refusal shows the form again, with
what was typed.
"""

from collections.abc import Callable
from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from matchbandit.errors import MatchbanditError
from matchbandit.live.errors import LeagueError
from matchbandit.live.records import VOID, Ids, Outcome
from matchbandit.service import sessions, tokens
from matchbandit.service.dashboard import pages
from matchbandit.service.dashboard.guard import Form, Guard, Visitor, check, safe_path
from matchbandit.service.limits import Buckets
from matchbandit.service.problems import ApiError
from matchbandit.service.sessions import Session

AN_HOUR = 3600.0


def add_login(routes: APIRouter, guard: Guard) -> None:
    """Show a token once, get a cookie; and give it back."""
    settings, store = guard.settings, guard.store
    wrong = Buckets(settings.wrong_tokens / 60, settings.wrong_tokens, settings.monotonic)

    @routes.get("/login")
    def login_page(request: Request, next: str = "/", ended: bool = False) -> Response:
        if guard.session(request) is not None:
            return RedirectResponse(safe_path(next), 303)
        words = "You were logged out. Log in and enter it again." if ended else None
        return pages.login(next_path=safe_path(next), error=words)

    @routes.post("/login")
    def login(request: Request, form: Annotated[Form, Depends(guard.form)]) -> Response:
        address = request.client.host if request.client else "unknown"
        wait = wrong.take(address)  # before the look-up, or many at once would all find a permit
        if wait > 0:
            seconds = str(max(1, ceil(wait)))
            words = f"too many wrong tokens came from this address. Try again in {seconds} s."
            raise ApiError("too-many-requests", words, {"Retry-After": seconds})
        token, next_path = tokens.known(store, form.one("token")), safe_path(form.one("next", "/"))
        ended = None if token is None else token.ended(store.now())
        if token is None or ended is not None:
            words = "There is no such token. Copy it whole, with the mbt_ at its beginning."
            words = words if ended is None else f"{ended[:1].upper()}{ended[1:]}. Ask for a new one."
            return pages.login(next_path=next_path, error=words, status=403)
        wrong.give_back(address)
        response = RedirectResponse(next_path, 303)
        guard.remember(response, sessions.begin(store, token))
        return response

    @routes.post("/logout")
    def logout(request: Request, form: Annotated[Form, Depends(guard.form)]) -> Response:
        session = guard.session(request)
        if session is not None:
            check(session, form)
            sessions.end(store, session)
        response = RedirectResponse("/login", 303)
        guard.forget(response)
        return response


def add_outcomes(routes: APIRouter, guard: Guard) -> None:
    """Ask and tell."""
    Sent = Annotated[Form, Depends(guard.form)]
    Playing = Annotated[Visitor, Depends(_writer(guard, "play"))]

    @routes.post("/leagues/{slug}/proposals")
    def ask(visitor: Playing, form: Sent) -> Response:
        ticked: list[int] = []
        try:
            ticked = [_id(text) for text in form.get("here", [])]
            # Without a roster the policy takes everybody. With one, only those ticked: others may have joined since.
            available = ticked if form.one("roster") else None
            proposal = visitor.league.ask(available=available, **visitor.writing(form.one("key")))
        except MatchbanditError as error:
            return pages.today(visitor, error=error, chosen=ticked)
        return _to(f"/leagues/{visitor.slug}", f"proposed:{proposal.number}")

    @routes.post("/leagues/{slug}/proposals/{number}/outcomes")
    def tell(request: Request, visitor: Playing, number: int, form: Sent) -> Response:
        given = {name.partition("-")[2]: texts[0] for name, texts in form.items() if name.startswith("outcome-")}
        try:
            outcomes = _outcomes(form)
            receipt = visitor.league.tell(number, outcomes, **visitor.writing()) if outcomes else None
        except MatchbanditError as error:
            if form.one("from") == "proposal":
                return pages.proposal(visitor, number, error=error, given=given)
            return pages.today(visitor, error=error, given=given, given_of=number)
        where = f"/leagues/{visitor.slug}" + (f"/proposals/{number}" if form.one("from") == "proposal" else "")
        return _to(where, "nothing" if receipt is None else f"told:{receipt.booked}")

    @routes.post("/leagues/{slug}/proposals/{number}/corrections")
    def correct(visitor: Playing, number: int, form: Sent) -> Response:
        try:
            changes = _corrections(form)
            receipt = visitor.league.correct(number, changes, **visitor.writing()) if changes else None
        except MatchbanditError as error:
            return pages.proposal(visitor, number, error=error, correcting=True)
        return _to(
            f"/leagues/{visitor.slug}/proposals/{number}",
            "unchanged" if receipt is None else f"corrected:{receipt.booked}",
        )

    @routes.post("/leagues/{slug}/proposals/{number}/void")
    def void(visitor: Playing, number: int, form: Sent) -> Response:
        try:
            receipt = visitor.league.void(number, **visitor.writing())
        except MatchbanditError as error:
            return pages.proposal(visitor, number, error=error)
        return _to(f"/leagues/{visitor.slug}/proposals/{number}", f"void:{receipt.booked}")


def add_changes(routes: APIRouter, guard: Guard) -> None:
    """Leagues, who takes part, and the rules."""
    Sent = Annotated[Form, Depends(guard.form)]
    Changing = Annotated[Visitor, Depends(_writer(guard, "admin"))]

    @routes.post("/new")
    def create(session: Annotated[Session, Depends(guard.logged_in)], form: Sent) -> Response:
        check(session, form)
        pages.must_create(session)
        try:
            made = guard.store.create(
                form.one("slug"), **_new_league(form), by=f"token:{session.token.id}", key=_key(session, form)
            )
        except MatchbanditError as error:
            return pages.new(session, given=form.plain(), error=error)
        return _to(f"/leagues/{made.name}", "created")

    @routes.post("/leagues/{slug}/items")
    def join(visitor: Changing, form: Sent) -> Response:
        try:
            visitor.league.join(*_names(form, "names"), side=form.one("side") or None, **visitor.writing())
        except MatchbanditError as error:
            return pages.items(visitor, error=error, given=form.plain())
        return _to(f"/leagues/{visitor.slug}/items", "joined")

    @routes.post("/leagues/{slug}/items/{number}/{action}")
    def change(visitor: Changing, number: int, action: str, form: Sent) -> Response:
        league, writing = visitor.league, visitor.writing()
        actions: dict[str, tuple[str, Callable[[], Any]]] = {
            "name": ("renamed", lambda: league.rename(number, form.one("name"), **writing)),
            "leave": ("left", lambda: league.leave(number, **writing)),
            "return": ("returned", lambda: league.rejoin(number, **writing)),
            "forget": ("forgotten", lambda: _sure(form) and league.forget(number, **writing)),
        }
        if action not in actions:
            raise ApiError("not-found", "there is nothing at this address.")
        done, act = actions[action]
        try:
            act()
        except MatchbanditError as error:
            return pages.item(visitor, number, error=error, given=form.plain())
        return _to(f"/leagues/{visitor.slug}/items/{number}", done)

    @routes.post("/leagues/{slug}/rules")
    def rule(visitor: Changing, form: Sent) -> Response:
        league = visitor.league
        rules = {"exclude": league.exclude, "allow": league.allow, "wish": league.wish, "unwish": league.unwish}
        try:
            if form.one("rule") not in rules:
                raise LeagueError("bad-value", "a rule is to exclude, to allow, to wish, or to wish no more.")
            rules[form.one("rule")]([(_id(form.one("one")), _id(form.one("two")))], **visitor.writing())
        except MatchbanditError as error:
            return pages.items(visitor, error=error, given=form.plain())
        return _to(f"/leagues/{visitor.slug}/items", "rule")


def _writer(guard: Guard, scope: str) -> Callable[..., Visitor]:
    """A dependency: a visitor who may do this much, and has sent a form of their own session."""

    def checked(
        visitor: Annotated[Visitor, Depends(guard.visitor(scope))], form: Annotated[Form, Depends(guard.form)]
    ) -> Visitor:
        check(visitor.session, form)
        return visitor

    return checked


def _to(path: str, done: str) -> Response:
    return RedirectResponse(f"{path}?done={done}", 303)


def _key(session: Session, form: Form) -> str | None:
    return f"{session.token.id}:{form.one('key')}" if form.one("key") else None


def _sure(form: Form) -> bool:
    if not form.one("sure"):
        raise LeagueError("bad-value", "to erase a name for good, say that you are sure.")
    return True


def _outcomes(form: Form) -> dict[Ids, Outcome]:
    """What was entered; what was left open is left out."""
    outcomes: dict[Ids, Outcome] = {}
    for name, texts in form.items():
        kind, _, pair = name.partition("-")
        text = texts[0].strip()
        if kind == "void" or (kind == "outcome" and text == "void"):
            outcomes[_pair(pair)] = VOID
        elif kind == "outcome" and text and not form.one(f"void-{pair}"):
            outcomes[_pair(pair)] = _number(text, "an outcome")
    return outcomes


def _corrections(form: Form) -> dict[Ids, Outcome]:
    """The outcomes that differ from those the form showed: others may have corrected the rest meanwhile."""
    shown = Form({f"outcome-{name[4:]}": texts for name, texts in form.items() if name.startswith("was-")})
    before = _outcomes(shown)
    return {pair: outcome for pair, outcome in _outcomes(form).items() if before.get(pair) != outcome}


def _pair(text: str) -> Ids:
    one, _, two = text.partition("-")
    return _id(one), _id(two)


def _id(text: str) -> int:
    if text.isdecimal() and len(text) <= len(str(pages.LARGEST_ID)):
        return int(text)
    raise LeagueError("unknown-item", f"an item is given by its id; got {text[:40]!r}.")


def _number(text: str, what: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise LeagueError("bad-value", f"{what} is a number, such as 0.5; got {text[:40]!r}.") from None


def _whole(text: str) -> int:
    number = _number(text, "a number of proposals")
    if not number.is_integer():
        raise LeagueError("bad-value", f"a number of proposals is whole, such as 2; got {text[:40]!r}.")
    return int(number)


def _names(form: Form, field: str) -> list[str]:
    return [line for line in form.one(field).splitlines() if line.strip()]


def _new_league(form: Form) -> dict[str, Any]:
    """What `Store.create` takes, from the form."""
    first, second = _names(form, "first"), _names(form, "second")
    sides = form.one("first-side"), form.one("second-side")
    if second or any(sides):
        if not all(sides):
            raise LeagueError("bad-value", "two sides have a name each, such as ads and slots.")
        who: dict[str, Any] = {"sides": dict(zip(sides, (first, second), strict=True))}
    else:
        who = {"players": first}
    hours = form.one("deadline")
    return who | {
        "rewards": form.one("rewards", "bernoulli"),
        "policy": form.one("policy", "rank1-thompson"),
        "deadline": _number(hours, "a deadline in hours") * AN_HOUR if hours else None,
        "no_rematch": _whole(form.one("no_rematch") or "0"),
    }
