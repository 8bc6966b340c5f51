"""Cases of the contract: leagues, each a script of random requests that a seed determines."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from contract.records import Case

N_STEPS = 170
ROUNDED = {"rtol": 1e-5, "atol": 1e-5}
"""For what comes from an iterative fit or is rounded in the store: users see few of its digits."""
MATCH = {
    "steps.expected": ROUNDED,
    "steps.best": ROUNDED,
    "steps.propensities": ROUNDED,
    "steps.ranking": ROUNDED,
    "steps.history": ROUNDED,
    "end.ranking": ROUNDED,
    "end.history": ROUNDED,
}
NO_OPTIONS: dict[str, Any] = {}
WITHOUT_HALF_LIFE = {"half_life": None}
ADAPTIVE = {"growth": 1.05, "clusters": None}
SETTINGS: dict[str, Any] = {
    "deadline": None,
    "default": "void",
    "no_rematch": 0,
    "title": "",
    "record_propensity": 0,
}
"""What every case has unless it says otherwise; the policy stands in each."""

Reward = Callable[[Random], Any]


def cases() -> Iterator[Case]:
    """Leagues of each policy and setting, then those that are written by hand.

    They reach all codes of errors but six. Scripts cannot: "store-busy" is held by tests/live/test_database.py,
    "store-unusable" by test_backup.py, "compute-busy" and "compute-limit" by test_compute.py beside it. "round-open" is
    of policies that play whole rounds, which test_league.py and test_commands.py hold, and no request gives
    "proposal-closed".
    """
    for number, (name, case, reward, changes) in enumerate(_leagues()):
        settings = {**SETTINGS, **case["settings"]}
        steps = _steps(Random(number), case, reward, changes)
        yield Case(f"league {name}", "league", {**case, "settings": settings, "steps": steps}, MATCH, group="leagues")
    yield Case("league rematches and deadlines", "league", _rematches(), MATCH, group="leagues")
    yield Case("league errors", "league", _errors(), MATCH, group="leagues")
    yield Case("league creation", "league creation", {"requests": _creation()}, group="leagues")


def _leagues() -> Iterator[tuple[str, dict[str, Any], Reward, list[dict[str, Any]]]]:
    """The name of each league, how it is created, its rewards, and the settings that it changes to."""
    thompson = {"policy": "rank1-thompson", "options": WITHOUT_HALF_LIFE, "selection": "matching"}
    window = [{"no_rematch": value} for value in (0, 1, 2)]
    yield (
        "rank1-thompson bernoulli",
        {"settings": thompson, "rewards": "bernoulli", "seed": 0, "players": _names("p", 7)},
        _fraction,
        [*window, {"title": "Spring"}],
    )
    yield (
        "rank1-thompson binomial deadline",
        {
            "settings": {**thompson, "deadline": 3600.0, "default": 0.25},
            "rewards": "binomial:4",
            "seed": 1,
            "players": _names("p", 10),
        },
        _quarters,
        [*window, {"deadline": 900.0}, {"default": "void"}, {"deadline": None}, {"deadline": 7200.0, "default": 0.0}],
    )
    yield (
        "rank1-thompson half-life",
        {
            "settings": {**thompson, "options": {"half_life": 7.0}},
            "rewards": "bernoulli",
            "seed": 2,
            "players": _names("p", 9),
        },
        _fraction,
        [*window, {"title": "Autumn"}],
    )
    yield (
        "rank1-thompson gaussian past results",
        {
            "settings": thompson,
            "rewards": "gaussian:0.3",
            "seed": 3,
            "players": _names("p", 8),
            "past": [["p0", "p1", 3, 2.25], ["p2", "p5", 1, 0.125], ["p7", "q0", 2, 0.75], ["p3", "p1", 4, 1.5]],
        },
        _normal,
        [*window, {"title": ""}, {"title": "Past"}],
    )
    yield (
        "rank1-thompson one pair",
        {
            "settings": {**thompson, "selection": "pair"},
            "rewards": "bernoulli",
            "seed": 4,
            "sides": [["ads", _names("a", 4)], ["slots", _names("s", 3)]],
        },
        _fraction,
        [*window, {"selection": "matching"}, {"selection": "pair"}],
    )
    yield (
        "rank1-thompson sides propensities",
        {
            "settings": {**thompson, "record_propensity": 10},
            "rewards": "bernoulli",
            "seed": 5,
            "sides": [["ads", _names("a", 4)], ["slots", _names("s", 7)]],
        },
        _fraction,
        [*window, {"record_propensity": 0}, {"record_propensity": 5}],
    )
    yield (
        "cucb",
        {
            "settings": {"policy": "cucb", "options": NO_OPTIONS, "selection": "matching", "deadline": 3600.0},
            "rewards": "bernoulli",
            "seed": 6,
            "players": _names("p", 9),
        },
        _fraction,
        window,
    )
    yield (
        "cts-beta",
        {
            "settings": {"policy": "cts-beta", "options": NO_OPTIONS, "selection": "matching"},
            "rewards": "bernoulli",
            "seed": 7,
            "players": _names("p", 8),
            "past": [["p0", "p1", 3, 2.6], ["p2", "p5", 2, 0.7], ["p3", "q0", 5, 1.3], ["p6", "p7", 4, 2.4]],
        },
        _fraction,
        window,
    )
    yield (
        "cts-beta sides binomial",
        {
            "settings": {"policy": "cts-beta", "options": NO_OPTIONS, "selection": "matching"},
            "rewards": "binomial:4",
            "seed": 8,
            "sides": [["ads", _names("a", 5)], ["slots", _names("s", 3)]],
        },
        _quarters,
        [*window, {"deadline": 600.0, "default": 0.5}, {"deadline": None, "default": "void"}],
    )
    yield (
        "cts-gaussian",
        {
            "settings": {"policy": "cts-gaussian", "options": NO_OPTIONS, "selection": "matching"},
            "rewards": "gaussian:0.3",
            "seed": 9,
            "players": _names("p", 8),
        },
        _normal,
        window,
    )
    yield (
        "kl-ucb sides",
        {
            "settings": {"policy": "kl-ucb", "options": NO_OPTIONS, "selection": "pair"},
            "rewards": "bernoulli",
            "seed": 10,
            "sides": [["ads", _names("a", 4)], ["slots", _names("s", 3)]],
        },
        _fraction,
        window,
    )
    yield (
        "change of policy",
        {
            "settings": {"policy": "cts-beta", "options": NO_OPTIONS, "selection": "matching"},
            "rewards": "bernoulli",
            "seed": 11,
            "players": _names("p", 6),
            "past": [["p0", "p1", 3, 2.6], ["p2", "p5", 2, 0.7], ["p3", "q0", 5, 1.3], ["p2", "p4", 4, 2.4]],
        },
        _fraction,
        [
            {"policy": "cucb", "options": NO_OPTIONS, "selection": "matching"},
            {"policy": "cts-gaussian", "options": NO_OPTIONS, "selection": "matching"},
            {"policy": "cts-beta", "options": NO_OPTIONS, "selection": "matching"},
            {"policy": "escb", "options": {"version": 2, "exploration": "log"}, "selection": "matching"},
            {"policy": "ols-ucb", "options": {"lam": 1.0}, "selection": "matching"},
            {"policy": "kl-ucb", "options": NO_OPTIONS, "selection": "pair"},
            thompson,
            {"no_rematch": 1},
        ],
    )
    yield (
        "change of half-life",
        {
            "settings": {**thompson, "options": {"half_life": 7.0}},
            "rewards": "bernoulli",
            "seed": 12,
            "players": _names("p", 8),
        },
        _fraction,
        [{"options": {"half_life": 3.0}}, {"options": {"half_life": 20.0}}, {"options": WITHOUT_HALF_LIFE}],
    )


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


def _fraction(rng: Random) -> float:
    """Three decimals, so that sums hardly ever tie."""
    return round(rng.random(), 3)


def _quarters(rng: Random) -> float:
    return int(5 * rng.random()) / 4


def _normal(rng: Random) -> float:
    return round(0.5 + 0.3 * (rng.random() + rng.random() + rng.random() - 1.5), 4)


def _steps(rng: Random, case: dict[str, Any], reward: Reward, changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A script for this league: the first asks, then whatever comes, and an export half-way."""
    writer = _Writer(rng, case, reward, changes)
    while len(writer.steps) < N_STEPS:
        if len(writer.steps) >= N_STEPS // 2 and not writer.exported:
            writer.write("export")
            writer.exported = True
        writer.next()
    return writer.steps


class _Writer:
    """Writes a script. It knows of the league what it did itself, and not what the league proposed."""

    def __init__(self, rng: Random, case: dict[str, Any], reward: Reward, changes: list[dict[str, Any]]) -> None:
        self.rng, self.reward, self.changes = rng, reward, changes
        self.steps: list[dict[str, Any]] = []
        self.exported = False
        self.two_sided = "sides" in case
        groups = case["sides"] if self.two_sided else [[None, [*case["players"], *(["q0"] if "past" in case else [])]]]
        self.side_of = {name: side for side, names in groups for name in names}
        self.away: set[str] = set()
        self.erased: set[str] = set()
        self.n_pairs = min(len(names) for _, names in groups) if self.two_sided else len(self.side_of) // 2
        if case["settings"]["selection"] == "pair" and len(changes) == 3:
            self.n_pairs = 1
        self.outcomes: list[dict[int, Any]] = []
        """For each ask, what was recorded by the position of the pair."""
        self.refused: set[int] = set()
        """The asks with an error."""
        self.excluded: list[list[str]] = []
        self.pinned: list[list[str]] = []
        self.n_new = self.n_keys = 0

    def write(self, do: str, **step: Any) -> None:
        self.steps.append({"do": do, **step})

    def pick(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.random() * len(values))]

    def some(self, values: Sequence[Any], share: float) -> list[Any]:
        return [value for value in values if self.rng.random() < share]

    def present(self) -> list[str]:
        return [name for name in self.side_of if name not in self.away]

    def pair(self, names: Sequence[str]) -> list[str]:
        """Two different names that could meet."""
        first = self.pick(names)
        others = [name for name in names if name != first and (not self.two_sided or self.differ(name, first))]
        if not others:
            return self.pair(self.present())
        pair = [first, self.pick(others)]
        return sorted(pair) if self.two_sided else pair

    def differ(self, first: str, second: str) -> bool:
        return bool(self.side_of[first] != self.side_of[second])

    def next(self) -> None:
        """The next request, or two that belong together."""
        if not self.proposals():
            self.ask()
            return
        kinds: list[tuple[float, Callable[[], None]]] = [
            (0.34, self.ask),
            (0.36, self.tell),
            (0.07, self.correct),
            (0.03, self.void),
            (0.02, self.tell_many),
            (0.03, self.read),
            (0.045, self.move),
            (0.035, self.exclude),
            (0.03, self.pin),
            (0.02, self.relax),
            (0.025, self.configure),
            (0.03, self.wait),
            (0.015, self.repeat),
            (0.03, self.mistake),
            (0.005, self.archive),
        ]
        at = self.rng.random() * sum(weight for weight, _ in kinds)
        for weight, write in kinds:
            at -= weight
            if at < 0:
                write()
                return

    def ask(self) -> None:
        step: dict[str, Any] = {}
        if self.rng.random() < 0.4:
            available = self.some(self.present(), 0.8)
            if len(available) > 1 and len({self.side_of[name] for name in available}) == 1 + self.two_sided:
                step["available"] = available
        if self.rng.random() < 0.1:
            step["fixed"] = [self.pair(step.get("available") or self.present())]
        self.outcomes.append({})
        self.write("ask", **step)

    def proposals(self) -> list[int]:
        return [ask for ask in range(len(self.outcomes)) if ask not in self.refused]

    def recent(self) -> int:
        """One of the last proposals."""
        return int(self.pick(self.proposals()[-4:]))

    def open(self) -> int:
        """One of the last proposals, with an outcome missing if there is such a one."""
        last = self.proposals()[-6:]
        return int(self.pick([ask for ask in last if len(self.outcomes[ask]) < self.n_pairs] or last))

    def outcome(self) -> Any:
        return "void" if self.rng.random() < 0.1 else self.reward(self.rng)

    def missing(self, ask: int) -> list[list[Any]]:
        """Outcomes of some pairs that have none yet, which from here on they have."""
        rows = [[at, self.outcome()] for at in range(self.n_pairs) if at not in self.outcomes[ask]]
        rows = self.some(rows, 0.7)
        self.outcomes[ask].update({at: value for at, value in rows})
        return rows

    def way(self) -> str:
        return str(self.pick(["ids", "names"]))

    def tell(self) -> None:
        ask = self.open()
        repeats = self.some(sorted(self.outcomes[ask].items()), 0.15)
        self.write("tell", ask=ask, by=self.way(), outcomes=[*self.missing(ask), *([at, old] for at, old in repeats)])

    def tell_many(self) -> None:
        asks = sorted({self.open(), self.open()})
        self.write("tell many", parts=[{"ask": ask, "by": self.way(), "outcomes": self.missing(ask)} for ask in asks])

    def correct(self) -> None:
        ask = self.pick([ask for ask in self.proposals() if self.outcomes[ask]] or self.proposals())
        rows = [[at, self.outcome()] for at in self.some(sorted(self.outcomes[ask]), 0.5)]
        self.outcomes[ask].update({at: value for at, value in rows})
        self.write("correct", ask=ask, by=self.way(), outcomes=rows)

    def void(self) -> None:
        ask = self.recent()
        at = None if self.rng.random() < 0.5 else [at for at in range(self.n_pairs) if at not in self.outcomes[ask]][:1]
        for each in range(self.n_pairs) if at is None else at:
            self.outcomes[ask].setdefault(each, "void")
        self.write("void", ask=ask, by=self.way(), at=at)

    def read(self) -> None:
        self.write("proposal", ask=self.pick(self.proposals()))

    def move(self) -> None:
        """Somebody leaves, rejoins, joins, has a new name or none any more."""
        kind = self.rng.random()
        present, away = self.present(), sorted(self.away - self.erased)
        if away and kind < 0.45:
            name = self.pick(away)
            self.away.discard(name)
            self.write("rejoin", names=[name], **self.side(name))
        elif kind < 0.75 and len(present) > 4:
            name = self.pick(present)
            if len([each for each in present if self.side_of[each] == self.side_of[name]]) > 2:
                self.away.add(name)
                self.write("leave", names=[name], **self.side(name))
        elif kind < 0.85 and self.n_new < 3:
            name, side = f"n{self.n_new}", self.side_of[self.pick(present)]
            self.n_new += 1
            self.side_of[name] = side
            self.write("join", names=[name], **({} if side is None else {"side": side}))
        elif kind < 0.95:
            old = self.pick(present)
            new = f"{old}x"
            self.write("rename", old=old, new=new, **self.side(old))
            self.side_of[new] = self.side_of.pop(old)
            self.excluded = [[new if name == old else name for name in pair] for pair in self.excluded]
            self.pinned = [[new if name == old else name for name in pair] for pair in self.pinned]
        elif len(present) > 5 and not self.erased:
            name = self.pick(present)
            self.write("erase name", name=name, **self.side(name))
            del self.side_of[name]
            self.erased.add(name)
            self.excluded = [pair for pair in self.excluded if name not in pair]
            self.pinned = [pair for pair in self.pinned if name not in pair]

    def side(self, name: str) -> dict[str, str]:
        return {"side": self.side_of[name]} if self.two_sided else {}

    def exclude(self) -> None:
        pair = self.pair(list(self.side_of))
        self.excluded.append(pair)
        self.write("exclude", pairs=[pair])

    def pin(self) -> None:
        pair = self.pair(list(self.side_of))
        self.pinned.append(pair)
        self.write("pin", pairs=[pair])

    def relax(self) -> None:
        """Remove a rule; now and then one that there is not."""
        kind = self.pick(["unexclude", "unexclude", "unpin"])
        rules = self.excluded if kind == "unexclude" else self.pinned
        pair = rules.pop(int(self.rng.random() * len(rules))) if rules else self.pair(self.present())
        self.write(kind, pairs=[pair])

    def configure(self) -> None:
        self.write("configure", settings=self.pick(self.changes))

    def wait(self) -> None:
        self.write("wait", seconds=self.pick([60, 600, 4000]))

    def repeat(self) -> None:
        """A request under a key, the same again, and perhaps another one under that key."""
        key = f"key {self.n_keys}"
        self.n_keys += 1
        if self.rng.random() < 0.5:
            available = self.some(self.present(), 0.9)
            others = available[1:]
            self.outcomes.append({})
            self.write("ask", available=available, key=key)
            for each in (available, others) if self.rng.random() < 0.5 else (available,):
                self.refused.add(len(self.outcomes))
                self.outcomes.append({})
                self.write("ask", available=each, key=key)
        else:
            ask = self.open()
            rows = self.missing(ask)
            for each in (rows, rows):
                self.write("tell", ask=ask, by="ids", outcomes=each, key=key)

    def mistake(self) -> None:
        """A request that has one error."""
        ask, present = self.recent(), self.present()
        pair = self.pair(present)
        kind = int(self.rng.random() * 16)
        if kind == 0:
            self.write("tell", ask=ask, by="ids", outcomes=[[0, 17.5 if self.reward is not _normal else "high"]])
        elif kind == 1:
            self.write("tell", number=999, pairs=[pair], outcomes=[[0, 1.0]])
        elif kind == 2:
            self.write("correct", number=0, pairs=[pair], outcomes=[[0, 1.0]])
        elif kind == 3:
            self.write("tell", ask=ask, by="ids", outcomes=[], others=[["nobody", pair[1], 1.0]])
        elif kind == 4:
            self.write("tell", ask=ask, by="ids", outcomes=[], others=[[pair[0], pair[0], 1.0]])
        elif kind == 5:
            repeats = [[at, self.reward(self.rng)] for at in sorted(self.outcomes[ask])][:1]
            self.write("tell", ask=ask, by="ids", outcomes=repeats)
        elif kind == 6:
            self.refused.add(len(self.outcomes))
            self.outcomes.append({})
            self.write("ask", available=[present[0], "nobody"])
        elif kind == 7:
            self.refused.add(len(self.outcomes))
            self.outcomes.append({})
            self.write("ask", available=[present[0]])
        elif kind == 8:
            self.refused.add(len(self.outcomes))
            self.outcomes.append({})
            self.write("ask", fixed=[pair, pair])
        elif kind == 9:
            self.write("join", names=[present[0]], **self.side(present[0]))
        elif kind == 10:
            self.write("join", names=["a" * 500], **self.side(present[0]))
        elif kind == 11:
            self.write("rename", old=present[0], new=present[1], **self.side(present[0]))
        elif kind == 12:
            self.write("exclude", pairs=[[present[0], present[0]]])
        elif kind == 13:
            bad = [{"deadline": -1.0}, {"no_rematch": -1}, {"colour": "red"}, {"policy": "thompson"}, {"default": "no"}]
            self.write("configure", settings=self.pick(bad))
        elif kind == 14:
            self.write("proposal", number=999)
        else:
            self.write("pin", pairs=[[present[0], "nobody"]])

    def archive(self) -> None:
        self.write("archive")
        self.write("tell", ask=self.recent(), by="ids", outcomes=[])
        self.write("restore")


def _rematches() -> dict[str, Any]:
    """Which pairs met lately, when results are late, void or corrected; and deadlines that pass to the second."""
    policy = {"policy": "rank1-thompson", "options": WITHOUT_HALF_LIFE, "selection": "pair"}
    settings = {**SETTINGS, **policy, "no_rematch": 3}
    steps: list[dict[str, Any]] = []

    def ask(*slots: str, fixed: bool = False) -> None:
        more = {"fixed": [["ad", slots[0]]]} if fixed else {}
        steps.append({"do": "ask", "available": ["ad", *slots], **more})

    def tell(ask: int, reward: Any, do: str = "tell") -> None:
        steps.append({"do": do, "ask": ask, "by": "names", "outcomes": [[0, reward]]})

    ask("a", fixed=True)
    tell(0, 0.25)
    ask("a")
    ask("a", "b")
    tell(2, 0.75)
    ask("a", fixed=True)
    tell(3, 0.5)
    tell(3, "void", do="correct")
    ask("a")  # it met in the first proposal
    ask("c")
    tell(5, 1.0)
    ask("a")
    for _ in range(2):
        ask("d", fixed=True)
    tell(8, 0.125)
    tell(7, 0.375)
    tell(8, "void", do="correct")
    ask("d")
    ask("b", fixed=True)
    tell(10, 0.625)
    ask("d")
    ask("e", fixed=True)
    ask("e")
    tell(12, "void")
    ask("e")
    steps.append({"do": "export"})
    steps.append({"do": "configure", "settings": {"deadline": 600.0, "default": 0.5, "no_rematch": 0}})
    for seconds in (599, 600, 601):
        ask("b", "c")
        steps.append({"do": "wait", "seconds": seconds})
        tell(sum(step["do"] == "ask" for step in steps) - 1, 1.0)
    steps.append({"do": "configure", "settings": {"deadline": 600.0, "default": "void"}})
    ask("a", "b")
    steps.append({"do": "wait", "seconds": 600})
    ask("b", "c", "d")
    tell(sum(step["do"] == "ask" for step in steps) - 2, 1.0)
    tell(sum(step["do"] == "ask" for step in steps) - 2, 0.875, do="correct")
    sides = [["ads", ["ad"]], ["slots", ["a", "b", "c", "d", "e"]]]
    return {"settings": settings, "rewards": "bernoulli", "seed": 14, "sides": sides, "steps": steps}


def _errors() -> dict[str, Any]:
    """A league of two sides and the requests that it refuses, one by one, among some that it does not."""
    settings = {**SETTINGS, "policy": "rank1-thompson", "options": WITHOUT_HALF_LIFE, "selection": "matching"}
    tell: dict[str, Any] = {"do": "tell", "ask": 0, "by": "names"}
    steps: list[dict[str, Any]] = [
        {"do": "tell", "number": 1, "pairs": [["ann", "door"]], "outcomes": [[0, 1.0]]},
        {"do": "ask"},
        {"do": "ask", "available": []},
        {"do": "ask", "available": ["ann", "bob"]},
        {"do": "ask", "available": ["ann", "Bobby"]},
        {"do": "ask", "fixed": [["ann", "bob"]]},
        {"do": "ask", "fixed": [["ann", "door"], ["ann", "wall"]]},
        {"do": "ask", "available": ["ann", "door"], "fixed": [["bob", "wall"]]},
        {"do": "ask", "key": ""},
        {**tell, "outcomes": [[0, 2.0]]},
        {**tell, "outcomes": [[0, -0.25]]},
        {**tell, "outcomes": [[0, "nan"]]},
        {**tell, "outcomes": [], "others": [["door", "wall", 1.0]]},
        {**tell, "outcomes": [], "others": [["door", "ann", 1.0]]},
        {**tell, "outcomes": [], "others": [["ann", "attic", 1.0]]},
        {**tell, "outcomes": [], "others": [["ann", "roof", 1.0]]},
        {**tell, "outcomes": []},
        {"do": "correct", "ask": 0, "by": "names", "outcomes": [[0, 1.0]]},
        {**tell, "outcomes": [[0, 0.625], [1, "void"]], "key": "first"},
        {**tell, "outcomes": [[0, 0.625], [1, "void"]], "key": "first"},
        {**tell, "outcomes": [[0, 0.75], [1, "void"]], "key": "first"},
        {"do": "ask", "key": "first"},
        {**tell, "outcomes": [[0, 0.625], [1, "void"]]},
        {**tell, "outcomes": [[0, 0.5]]},
        {**tell, "outcomes": [[1, 0.5]]},
        {"do": "correct", "ask": 0, "by": "names", "outcomes": [[0, 0.625], [1, 0.5]]},
        {"do": "correct", "ask": 0, "by": "names", "outcomes": [[0, "void"]]},
        {"do": "void", "ask": 0, "by": "names", "at": None},
        {"do": "void", "ask": 0, "by": "names", "at": [1]},
        {"do": "proposal", "ask": 0},
        {"do": "proposal", "number": 0},
        {"do": "proposal", "number": 40},
        {"do": "void", "number": 40, "pairs": [["ann", "door"]], "at": [0]},
        {"do": "join", "names": ["ann"], "side": "guests"},
        {"do": "join", "names": ["cleo"]},
        {"do": "join", "names": ["both"], "side": "hosts"},
        {"do": "join", "names": ["both"], "side": "guests"},
        {"do": "leave", "names": ["both"]},
        {"do": "leave", "names": ["both"], "side": "hosts"},
        {"do": "join", "names": ["cleo", "cleo"], "side": "guests"},
        {"do": "join", "names": [""], "side": "guests"},
        {"do": "join", "names": ["#4"], "side": "guests"},
        {"do": "join", "names": ["line\nbreak"], "side": "guests"},
        {"do": "join", "names": ["cleo"], "side": "guests"},
        {"do": "leave", "names": ["Cleo"]},
        {"do": "leave", "names": ["cleo"]},
        {"do": "leave", "names": ["cleo"]},
        {"do": "ask", "available": ["cleo", "door"]},
        {"do": "join", "names": ["cleo"], "side": "guests"},
        {"do": "rename", "old": "cleo", "new": "ann"},
        {"do": "rename", "old": "cleo", "new": "cleo"},
        {"do": "rename", "old": "cleo", "new": "Cleopatra"},
        {"do": "rename", "old": "Cleopatra", "new": "wall"},
        {"do": "rename", "old": "wall", "new": "ann"},
        {"do": "rename", "old": "wall", "new": "wall"},
        {"do": "erase name", "name": "nobody"},
        {"do": "pin", "pairs": [["#9", "roof"]]},
        {"do": "erase name", "name": "#9"},
        {"do": "erase name", "name": "#9"},
        {"do": "rejoin", "names": ["#9"]},
        {"do": "rename", "old": "#9", "new": "eve"},
        {"do": "pin", "pairs": [["#9", "door"]]},
        {"do": "leave", "names": ["line break", "both"], "side": "guests"},
        {"do": "exclude", "pairs": [["ann", "bob"]]},
        {"do": "exclude", "pairs": [["ann", "nobody"]]},
        {"do": "exclude", "pairs": [["ann", "door"], ["ann", "door"]]},
        {"do": "pin", "pairs": [["ann", "door"]]},
        {"do": "ask", "fixed": [["ann", "door"]]},
        {"do": "pin", "pairs": [["bob", "wall"]]},
        {"do": "exclude", "pairs": [["bob", "wall"]]},
        {"do": "unpin", "pairs": [["ann", "wall"]]},
        {"do": "unexclude", "pairs": [["ann", "wall"]]},
        {"do": "export"},
        {"do": "exclude", "pairs": [["ann", "wall"], ["ann", "roof"], ["bob", "door"], ["bob", "roof"]]},
        {"do": "ask"},
        {"do": "unpin", "pairs": [["bob", "wall"]]},
        {"do": "exclude", "pairs": [["bob", "wall"]]},
        {"do": "ask"},
        {"do": "unexclude", "pairs": [["bob", "wall"], ["ann", "door"], ["ann", "roof"]]},
        {"do": "configure", "settings": {"no_rematch": 5}},
        {"do": "ask"},
        {"do": "ask"},
        {"do": "ask"},
        {"do": "configure", "settings": {"no_rematch": 1.5}},
        {"do": "configure", "settings": {"no_rematch": True}},
        {"do": "configure", "settings": {"deadline": 0}},
        {"do": "configure", "settings": {"deadline": "soon"}},
        {"do": "configure", "settings": {"default": 1.5}},
        {"do": "configure", "settings": {"title": "x" * 101}},
        {"do": "configure", "settings": {"record_propensity": 10_001}},
        {"do": "configure", "settings": {"policy": "no-policy"}},
        {"do": "configure", "settings": {"policy": "adaptive-matching", "options": ADAPTIVE, "selection": "matching"}},
        {"do": "configure", "settings": {"policy": "sequential-halving", "options": {}, "selection": "pair"}},
        {"do": "configure", "settings": {"policy": "cucb", "options": {"half_life": 4.0}, "selection": "matching"}},
        {"do": "configure", "settings": {"policy": "cucb", "options": {}, "selection": "pair"}},
        {"do": "configure", "settings": {"options": {"half_life": -1.0}}},
        {"do": "configure", "settings": {"seed": 3}},
        {"do": "archive"},
        {"do": "ask"},
        {"do": "join", "names": ["eve"], "side": "guests"},
        {"do": "configure", "settings": {"title": "Late"}},
        {"do": "proposal", "ask": 0},
        {"do": "restore"},
        {"do": "configure", "settings": {"title": "Late"}},
    ]
    sides = [["guests", ["ann", "bob"]], ["hosts", ["door", "wall", "roof"]]]
    return {"settings": settings, "rewards": "bernoulli", "seed": 12, "sides": sides, "steps": steps}


def _creation() -> list[dict[str, Any]]:
    """Leagues that a store makes, imports, hides and finds again, and those that it refuses."""
    settings = {**SETTINGS, "policy": "rank1-thompson", "options": WITHOUT_HALF_LIFE, "selection": "matching"}

    def create(slug: str, **others: Any) -> dict[str, Any]:
        request = {"do": "create", "slug": slug, "rewards": "bernoulli", "seed": 0, "settings": settings}
        return request | ({} if "sides" in others else {"players": ["ann", "bob", "cleo"]}) | others

    def exclude(first: int, last: int) -> dict[str, Any]:
        """All pairs from one number to before another."""
        return {"do": "exclude", "slug": "crowd", "players": 448, "pairs": [first, last]}

    sides = [["ads", ["a", "b"]], ["slots", ["top"]]]
    return [
        {"do": "open", "slug": "club"},
        create("club", key="club"),
        create("club", key="club"),
        create("club", key="club", seed=1),
        create("club"),
        create("Club"),
        create("a-club-of-" + "x" * 60),
        create("-club"),
        create("shop", sides=sides),
        create("one", sides=sides[:1]),
        create("both", sides=sides, players=["ann", "bob"]),
        create("same", players=["ann", "ann"]),
        create("empty", players=[]),
        create("poor", rewards="poisson"),
        create("loud", rewards="gaussian:-1"),
        create("seedless", seed=-1),
        create("unknown", settings={**settings, "policy": "no-policy", "options": NO_OPTIONS}),
        create("rounds", settings={**settings, "policy": "sequential-halving", "options": NO_OPTIONS}),
        create("odd", settings={**settings, "colour": "red"}),
        create("past", players=["ann"], past=[["ann", "bob", 3, 1.5], ["dora", "eve", 2, 0.25]]),
        create("past-sum", past=[["ann", "bob", 3, 3.5]]),
        create("past-count", past=[["ann", "bob", 0, 0.0]]),
        create("past-self", past=[["ann", "ann", 1, 0.5]]),
        {"do": "list"},
        {"do": "export", "slug": "past", "file": "past.gz"},
        {"do": "import", "slug": "again", "file": "past.gz"},
        {"do": "import", "slug": "club", "file": "past.gz"},
        {"do": "import", "slug": "Again", "file": "past.gz"},
        {"do": "write", "file": "not-a-league.jsonl", "text": "hello\n"},
        {"do": "import", "slug": "hello", "file": "not-a-league.jsonl"},
        {"do": "write", "file": "empty.jsonl", "text": ""},
        {"do": "import", "slug": "hello", "file": "empty.jsonl"},
        {"do": "import", "slug": "hello", "file": "missing.gz"},
        {"do": "archive", "slug": "shop"},
        {"do": "list"},
        {"do": "open", "slug": "shop"},
        {"do": "restore", "slug": "shop"},
        {"do": "delete", "slug": "shop", "now": False},
        {"do": "open", "slug": "shop"},
        create("shop"),
        {"do": "list"},
        {"do": "restore", "slug": "shop"},
        {"do": "delete", "slug": "shop", "now": True},
        {"do": "restore", "slug": "shop"},
        {"do": "delete", "slug": "nobody", "now": False},
        {"do": "archive", "slug": "nobody"},
        create("shop"),
        {"do": "list"},
        create("crowd", players=_names("p", 448)),  # who have 100,128 pairs
        exclude(0, 10_001),
        *(exclude(first, first + 10_000) for first in range(0, 100_000, 10_000)),
        exclude(100_000, 100_001),
    ]
