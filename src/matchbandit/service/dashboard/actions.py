"""What forms do: log in and out, propose, tell, correct, void, change who takes part, the rules and the settings.

Each ends with a new page to go to, so that loading it again does nothing twice; a refusal shows the form again, with
what was typed.
"""

from collections.abc import Callable
from math import ceil
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from matchbandit.errors import MatchbanditError
from matchbandit.live.errors import LeagueError
from matchbandit.live.records import VOID, Ids, Outcome
from matchbandit.service import sessions, tokens
from matchbandit.service.dashboard import pages
from matchbandit.service.dashboard.content import query_string
from matchbandit.service.dashboard.guard import Form, Guard, Visitor, check, safe_path
from matchbandit.service.dashboard.league_form import changed_settings, names_in, new_league, parse_number
from matchbandit.service.limits import Buckets
from matchbandit.service.problems import ApiError
from matchbandit.service.sessions import Session


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
        token, next_path = tokens.lookup(store, form.one("token")), safe_path(form.one("next", "/"))
        ended = None if token is None else token.end_reason(store.now())
        if token is None or ended is not None:
            words = "There is no such token. Copy it whole, with the mbt_ at its beginning."
            words = words if ended is None else f"{ended[:1].upper()}{ended[1:]}. Ask for a new one."
            return pages.login(next_path=next_path, error=words, status=403)
        wrong.give_back(address)
        response = RedirectResponse(next_path, 303)
        guard.remember(response, sessions.create(store, token))
        return response

    @routes.post("/logout")
    def logout(request: Request, form: Annotated[Form, Depends(guard.form)]) -> Response:
        session = guard.session(request)
        if session is not None:
            check(session, form)
            sessions.delete_session(store, session)
        response = RedirectResponse("/login", 303)
        guard.forget(response)
        return response


def add_outcomes(routes: APIRouter, guard: Guard) -> None:
    """Ask and tell."""
    Sent = Annotated[Form, Depends(guard.form)]
    Playing = Annotated[Visitor, Depends(_writer(guard, "play"))]

    @routes.post("/leagues/{slug}/proposals")
    def ask(visitor: Playing, form: Sent) -> Response:
        ticked: list[int] | None = None
        try:
            if form.one("roster") == "typed":
                available = _typed_roster(visitor, form)
            else:
                # Without a roster the policy takes everybody; with one, those ticked: others may have joined since.
                ticked = [_id(text) for text in form.get("here", [])] if form.one("roster") else None
                available = ticked
            proposal = visitor.league.ask(available=available, **visitor.writing(form.one("key")))
        except MatchbanditError as error:
            return pages.today(visitor, error=error, chosen=ticked, typed=form.first_texts())
        return _to(f"/leagues/{visitor.slug}", f"proposed:{proposal.number}")

    @routes.post("/leagues/{slug}/proposals/{number}/outcomes")
    def tell(visitor: Playing, number: int, form: Sent) -> Response:
        typed = {name.partition("-")[2]: texts[0] for name, texts in form.items() if name.startswith("outcome-")}
        of_proposal = form.one("from") == "proposal"
        try:
            outcomes = _outcomes(form)
            receipt = visitor.league.tell(number, outcomes, **visitor.writing()) if outcomes else None
        except MatchbanditError as error:
            if of_proposal:
                return pages.proposal(visitor, number, error=error, typed=typed, **_page_of(form))
            return pages.today(visitor, error=error, typed=typed, typed_for=number)
        done = "nothing" if receipt is None else f"told:{receipt.booked}"
        if of_proposal:
            return _to(f"/leagues/{visitor.slug}/proposals/{number}", done, **_page_of(form))
        return _to(f"/leagues/{visitor.slug}", done)

    @routes.post("/leagues/{slug}/proposals/{number}/corrections")
    def correct(visitor: Playing, number: int, form: Sent) -> Response:
        try:
            changes = _corrections(form)
            receipt = visitor.league.correct(number, changes, **visitor.writing()) if changes else None
        except MatchbanditError as error:
            return pages.proposal(visitor, number, error=error, correcting=True, **_page_of(form))
        done = "unchanged" if receipt is None else f"corrected:{receipt.booked}"
        return _to(f"/leagues/{visitor.slug}/proposals/{number}", done, **_page_of(form))

    @routes.post("/leagues/{slug}/proposals/{number}/void")
    def void(visitor: Playing, number: int, form: Sent) -> Response:
        try:
            receipt = visitor.league.void(number, **visitor.writing())
        except MatchbanditError as error:
            return pages.proposal(visitor, number, error=error)
        return _to(f"/leagues/{visitor.slug}/proposals/{number}", f"void:{receipt.booked}")


def add_changes(routes: APIRouter, guard: Guard) -> None:
    """Leagues, who takes part, the rules, and the settings."""
    Sent = Annotated[Form, Depends(guard.form)]
    Changing = Annotated[Visitor, Depends(_writer(guard, "admin"))]

    @routes.post("/new")
    def create(session: Annotated[Session, Depends(guard.logged_in)], form: Sent) -> Response:
        check(session, form)
        pages.must_create(session)
        try:
            league = guard.store.create(
                form.one("slug"), **new_league(form), by=f"token:{session.token.id}", key=_key(session, form)
            )
        except MatchbanditError as error:
            return pages.new(session, typed=form.first_texts(), error=error)
        return _to(f"/leagues/{league.name}", "created")

    @routes.post("/leagues/{slug}/settings")
    def configure(visitor: Changing, form: Sent) -> Response:
        try:
            changes = changed_settings(form)
            if changes:
                visitor.league.configure(**changes, **visitor.writing())
        except MatchbanditError as error:
            return pages.settings(visitor, error=error, typed=form.first_texts())
        return _to(f"/leagues/{visitor.slug}/settings", "configured" if changes else "unchanged")

    @routes.post("/leagues/{slug}/items")
    def join(visitor: Changing, form: Sent) -> Response:
        side = form.one("side")
        try:
            joined = visitor.league.join(
                *names_in(form.one("names"), side=side), side=side or None, **visitor.writing()
            )
        except MatchbanditError as error:
            return pages.items(visitor, error=error, typed=form.first_texts())
        return _to(f"/leagues/{visitor.slug}/items", f"joined:{len(joined)}")

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
            return pages.item(visitor, number, error=error, typed=form.first_texts())
        return _to(f"/leagues/{visitor.slug}/items/{number}", done)

    @routes.post("/leagues/{slug}/rules")
    def rule(visitor: Changing, form: Sent) -> Response:
        league = visitor.league
        rules = {"exclude": league.exclude, "allow": league.allow, "wish": league.wish, "unwish": league.unwish}
        try:
            if form.one("rule") not in rules:
                raise LeagueError("bad-value", "a rule is to exclude, to allow, to wish, or to wish no more.")
            # What is undone comes from the page, by id; what is new was typed, by name.
            pair = _pair(form.one("ids")) if form.one("ids") else (form.one("one"), form.one("two"))
            rules[form.one("rule")]([pair], **visitor.writing())
        except MatchbanditError as error:
            return pages.rules(visitor, error=error, typed=form.first_texts())
        return _to(f"/leagues/{visitor.slug}/rules", "rule")


def _writer(guard: Guard, scope: str) -> Callable[..., Visitor]:
    """A dependency: a visitor who may do this much, and has sent a form of their own session."""

    def checked(
        visitor: Annotated[Visitor, Depends(guard.visitor(scope))], form: Annotated[Form, Depends(guard.form)]
    ) -> Visitor:
        check(visitor.session, form)
        return visitor

    return checked


def _to(path: str, done: str, **query: Any) -> Response:
    more = query_string({}, **query)
    return RedirectResponse(f"{path}?done={quote(done, safe=':')}{more and '&'}{more}", 303)


def _page_of(form: Form) -> dict[str, Any]:
    """Which page of the pairs of a proposal the form was on."""
    after = form.one("after")
    return {"after": int(after) if after.isdecimal() and len(after) < 10 else 0, "search": form.one("search")[:200]}


def _typed_roster(visitor: Visitor, form: Form) -> list[int] | None:
    """Who is available, of names that were typed: these only, or everybody but these; None if none were typed."""
    names = names_in(form.one("names"))
    if not names:
        return None
    with visitor.league.view() as view:
        ids = {view.resolve(name) for name in names}
        if form.one("mode") == "absent":
            return [item.id for item in view.items(active=True) if item.id not in ids]
        return sorted(ids)


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
            outcomes[_pair(pair)] = parse_number(text, "an outcome")
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
