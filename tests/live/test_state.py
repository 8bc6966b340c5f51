"""The state is a fold: from nothing, step by step, or from a snapshot, it is the same."""

import json

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from small_league import SmallLeague

from matchbandit.live.errors import LeagueError
from matchbandit.live.events import Draft, Event, add_seconds
from matchbandit.live.records import VOID
from matchbandit.live.state import State
from matchbandit.live.tally import key_of, pair_of

PEOPLE = ["ann", "bob", "cem", "dee", "eve"]


def league(**settings):
    return SmallLeague(players=PEOPLE, **settings)


def test_a_league_by_hand():
    club = league(no_rematch=2)
    club.propose((1, 2), (3, 4), byes=(5,))
    club.propose((1, 3), (2, 5), byes=(4,))
    state = club.state
    assert list(state.open) == [1, 2]
    assert state.next_number == 3
    assert state.byes == [0, 0, 0, 1, 1]
    assert state.last_bye == [0, 0, 0, 2, 1]
    club.tell(2, {("bob", "eve"): 1})
    club.tell(1, {("bob", "ann"): 0.5, ("cem", "dee"): VOID})
    assert list(state.open) == [2]
    assert state.waiting == {key_of(1, 3): 1}
    assert state.meetings == [1, 2, 0, 0, 1]
    assert state.tally.of_pair(key_of(2, 5)) == (1, 1.0)
    assert state.tally.of_pair(key_of(3, 4)) == (0, 0.0)
    club.correct(1, {("ann", "bob"): 0.25, ("cem", "dee"): 1})
    assert state.tally.of_pair(key_of(1, 2)) == (1, 0.25)
    assert state.tally.of_pair(key_of(3, 4)) == (1, 1.0)
    club.correct(1, {("ann", "bob"): VOID})
    assert state.tally.of_pair(key_of(1, 2)) == (0, 0.0)
    assert state.meetings == [0, 1, 1, 1, 1]


def test_items_keep_their_ids():
    club = league()
    club.do("leave", ["bob"])
    club.do("join", ["fay", "bob"])
    club.do("forget", "ann")
    assert club.state.active == [False, True, True, True, True, True]
    assert club.state.forgotten == [True, *[False] * 5]
    assert [event.kind for event in club.log[2:]] == ["left", "returned", "joined", "forgotten"]
    assert club.state.names_seq == 6
    assert all("ann" not in json.dumps(event.data) for event in club.log)


def test_sides_are_numbered_for_themselves():
    market = SmallLeague(sides={"ads": ["a", "b"], "slots": ["top"]})
    market.do("join", ["c"], side="ads")
    market.do("join", ["side"], side="slots")
    assert market.state.sides_by_item == [0, 0, 1, 0, 1]
    assert market.state.places == [0, 1, 0, 2, 1]
    assert market.state.on_side == [3, 2]


def test_a_deadline_tells_what_nobody_told():
    club = league(deadline=60, default=0.25)
    club.propose((1, 2), (3, 4))
    club.tell(1, {("ann", "bob"): 1})
    club.wait(59)
    assert 1 in club.state.open
    club.wait(1)
    assert not club.state.open
    assert not club.state.dues
    assert (club.log[-1].kind, club.log[-1].by) == ("expired", "clock")
    assert club.log[-1].data == {"proposal": 1, "outcomes": [[3, 4, 0.25]]}
    assert club.state.tally.of_pair(key_of(3, 4)) == (1, 0.25)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Event(9, "", "left", {"items": [1]}), "event 2 is followed by 9, not 3"),
        (Event(3, "", "left", {"items": [77]}), "event 3 .left. does not fit"),
        (Event(3, "", "told", {"proposal": 1, "outcomes": []}), "event 3 .told. does not fit"),
        (Event(3, "", "proposed", {"number": 2, "pairs": []}), "proposal 2 comes after 0"),
        (Event(3, "", "joined", {"items": [[7, 0]]}), "item 7 comes after 5"),
        (Event(3, "", "created", {"rewards": "bernoulli"}), "the league exists"),
    ],
)
def test_a_log_that_does_not_fit_is_damaged(event, words):
    with pytest.raises(LeagueError, match=words) as caught:
        league().state.apply(event)
    assert caught.value.code == "damaged"


def test_a_log_with_results_that_the_rewards_cannot_give_is_damaged():
    club = SmallLeague(players=["ann", "bob", "cem", "dan"], rewards="binomial:5")
    pairs = club.ask()["pairs"]
    club.take([Draft("told", {"proposal": 1, "outcomes": [[*pairs[0], 0.4]]})])
    for draft in (
        Draft("told", {"proposal": 1, "outcomes": [[*pairs[1], 0.37]]}),
        Draft("corrected", {"proposal": 1, "outcomes": [[*pairs[0], 0.4, 0.37]]}),
        Draft("began", {"results": [[1, 2, 3, 1.1]]}),
    ):
        with pytest.raises(LeagueError, match="does not fit") as caught:
            State().fold(club.log).apply(Event(len(club.log) + 1, "", draft.kind, draft.data))
        assert caught.value.code == "damaged"
    club.take([Draft("corrected", {"proposal": 1, "outcomes": [[*pairs[0], 0.4, None]]})])


def test_a_pair_is_told_once():
    club = league()
    club.propose((1, 2), (3, 4))
    club.tell(1, {(1, 2): 1})
    with pytest.raises(LeagueError, match="have no missing outcome"):
        club.take([Draft("told", {"proposal": 1, "outcomes": [[1, 2, 1.0]]})])


def test_newer_logs_are_refused_by_the_name_of_what_is_new():
    with pytest.raises(LeagueError, match="'merged': this log is newer than this program"):
        league().state.apply(Event(3, "", "merged", {}))
    with pytest.raises(LeagueError, match="event 3 names the policy 'oracle': this log is newer"):
        league().state.apply(Event(3, "", "configured", {"policy": "oracle", "options": {}}))


def test_keys_that_are_new_do_no_harm():
    club = league()
    club.take([Draft("left", {"items": [1], "why": "holidays"})])
    assert club.state.active[0] is False


def test_a_snapshot_of_another_version_is_refused():
    with pytest.raises(LeagueError, match="version 99; this program reads 4"):
        State.from_snapshot({**league().state.snapshot(), "version": 99})


def test_digests_tell_states_apart():
    seen = set()
    club = league()
    club.propose((1, 2), (3, 4), byes=(5,))
    steps = [
        lambda: club.tell(1, {(1, 2): 1}),
        lambda: club.correct(1, {(1, 2): 0}),
        lambda: club.void(1),
        lambda: club.do("exclude", [(1, 2)]),
        lambda: club.do("wish", [(1, 3)]),
        lambda: club.do("leave", ["eve"]),
        lambda: club.do("forget", "eve"),
        lambda: club.configure(no_rematch=3),
        lambda: club.do("join", ["fay"]),
    ]
    for step in steps:
        step()
        club.state.seq = 0  # all else must tell them apart
        seen.add(club.state.digest())
        club.state.seq = len(club.log)
    assert len(seen) == len(steps)


def test_policies_that_flip_coins_flip_the_same_when_folded_again():
    club = league(policy="cts-beta", rewards="binomial:4", seed=3)
    for number in range(1, 30):
        club.propose((1, 2), (3, 4))
        club.tell(number, {(1, 2): 0.5, (3, 4): 0.25})
    club.correct(3, {(1, 2): 0.75})
    sums = club.state.tally.results(30).sums
    assert sums.tolist() == [round(value) for value in sums.tolist()]
    assert 0 < sums[1] < 29
    assert State().fold(club.log).digest() == club.state.digest()
    # Another policy counts what was paid.
    club.configure(policy="cucb")
    assert club.state.tally.results(30).sums.tolist() == club.state.tally.results(30).paid.tolist()
    club.configure(policy="cts-beta")
    assert club.state.tally.results(30).sums.tolist() == [15.0, 7.0]


def everything(state):
    """All that a state holds, so that nothing escapes the snapshot."""
    plain = {name: part for name, part in vars(state).items() if name not in ("_accounting", "tally", "dues")}
    plain["open"] = {number: sheet.to_dict() for number, sheet in state.open.items()}
    plain["last_round"] = state.last_round and state.last_round.to_dict()
    return plain | {name: part for name, part in vars(state.tally).items()}


def test_a_pair_may_wait_in_several_proposals():
    club = league()
    for number in (1, 2, 3):
        club.propose((1, 2))
        assert club.state.waiting == {key_of(1, 2): number}
    for number in (2, 1):
        club.tell(number, {(1, 2): 1})
    assert club.state.waiting == {key_of(1, 2): 1}
    club.void(3)
    assert club.state.waiting == {}
    assert club.state.tally.of_pair(key_of(1, 2)) == (2, 2.0)


class Machine(RuleBasedStateMachine):
    """Random commands: what they do is compared with the fold of the log, from nothing and from snapshots."""

    @initialize(
        sides=st.booleans(),
        policy=st.sampled_from(["rank1-thompson", "cts-beta", "cucb"]),
        half_life=st.none() | st.floats(0.2, 50),
        deadline=st.none() | st.just(100.0),
        default=st.sampled_from([VOID, 0.5]),
        past=st.booleans(),
    )
    def begin(self, sides, policy, half_life, deadline, default, past):
        options = {"half_life": half_life} if policy == "rank1-thompson" else {}
        items = {"sides": {"ads": ["a", "b", "c"], "slots": ["x", "y"]}} if sides else {"players": PEOPLE}
        first = ("a", "x") if sides else ("ann", "bob")
        self.league = SmallLeague(
            **items,
            policy=policy,
            options=options,
            deadline=deadline,
            default=default,
            past=[(*first, 3, 1.5)] if past else None,
        )
        self.restored = State.from_snapshot(json.loads(json.dumps(self.league.state.snapshot())))
        self.known = {}
        """Outcomes by proposal and pair: what the tally must come to."""
        self.began = {key_of(1, 4) if sides else key_of(1, 2): (3, 1.5)} if past else {}

    def attempt(self, command, *arguments, **options):
        """Do it, or leave everything as it is."""
        before = len(self.league.log), self.league.state.digest()
        try:
            return command(*arguments, **options)
        except LeagueError as error:
            assert error.code != "damaged"  # noqa: PT017  # a command that is refused is no damage
            assert (len(self.league.log), self.league.state.digest()) == before
            return None

    def some(self, data, most=3):
        items = st.integers(1, self.league.state.n_items)
        return data.draw(st.lists(items, min_size=1, max_size=most))

    @rule(data=st.data())
    def leave(self, data):
        self.attempt(self.league.do, "leave", self.some(data))

    @rule(data=st.data())
    def rejoin(self, data):
        self.attempt(self.league.do, "rejoin", self.some(data))

    @rule(data=st.data(), name=st.sampled_from(["fay", "gus", "ann", "x"]))
    def join(self, data, name):
        side = data.draw(st.sampled_from(["ads", "slots"])) if self.league.state.two_sided else None
        self.attempt(self.league.do, "join", [name], side=side)

    @rule(data=st.data(), name=st.sampled_from(["hal", "ida", "bob"]))
    def rename(self, data, name):
        self.attempt(self.league.do, "rename", self.some(data, 1)[0], name)

    @rule(data=st.data())
    def forget(self, data):
        self.attempt(self.league.do, "forget", self.some(data, 1)[0])

    @rule(data=st.data(), what=st.sampled_from(["exclude", "allow", "wish", "unwish"]))
    def rules(self, data, what):
        self.attempt(self.league.do, what, [self.pair(data)])

    @rule(
        change=st.sampled_from(
            [{"no_rematch": 2}, {"policy": "cucb"}, {"policy": "rank1-thompson", "options": {"half_life": 3}}]
        )
    )
    def configure(self, change):
        self.attempt(self.league.configure, **change)

    def pair(self, data):
        state = self.league.state
        rows = [k + 1 for k in range(state.n_items) if state.sides_by_item[k] == 0]
        columns = [k + 1 for k in range(state.n_items) if state.sides_by_item[k] == 1] or rows
        return data.draw(st.tuples(st.sampled_from(rows), st.sampled_from(columns)))

    @rule(data=st.data())
    def propose(self, data):
        taken, pairs = set(), []
        for _ in range(3):
            a, b = self.pair(data)
            if a != b and not {a, b} & taken:
                taken |= {a, b}
                pairs.append((a, b) if self.league.state.two_sided else (min(a, b), max(a, b)))
        byes = [item for item in range(1, self.league.state.n_items + 1) if item not in taken][:1]
        fixed = [list(pair) for pair in pairs if key_of(*pair) in self.league.state.wishes]
        self.known[self.league.propose(*pairs, byes=tuple(byes), fixed=fixed)] = {}

    @precondition(lambda self: self.known)
    @rule(data=st.data(), reward=st.sampled_from([0.0, 1.0, 0.3, VOID]), correcting=st.booleans())
    def tell(self, data, reward, correcting):
        number = data.draw(st.sampled_from(sorted(self.known)))
        pairs = self.league.record(number).state.ids
        if not pairs:
            return
        pair = data.draw(st.sampled_from(pairs))
        command = self.league.correct if correcting else self.league.tell
        if self.attempt(command, number, {pair: reward}) is not None:
            self.known[number][pair] = reward

    @rule(seconds=st.sampled_from([10, 150]))
    def wait(self, seconds):
        due = [n for at, n in self.league.state.dues if at <= add_seconds(self.league.now, seconds)]
        for number in {n for n in due if n in self.league.state.open}:
            for key in self.league.state.open[number].waiting:
                default = self.league.state.config["default"]
                self.known[number][pair_of(key)] = VOID if default == "void" else default
        self.league.wait(seconds)

    @rule()
    def snapshot(self):
        self.restored = State.from_snapshot(json.loads(json.dumps(self.league.state.snapshot())))

    @invariant()
    def fold_from_nothing_and_from_a_snapshot(self):
        if not hasattr(self, "league"):
            return
        digest = self.league.state.digest()
        self.restored.fold(self.league.log[self.restored.seq :])
        again = State().fold(self.league.log)
        assert self.restored.digest() == again.digest() == digest
        assert everything(self.restored) == everything(again) == everything(self.league.state)
        due = {(sheet.due, number) for number, sheet in self.league.state.open.items() if sheet.due is not None}
        assert due <= set(self.restored.dues)
        assert due <= set(self.league.state.dues)

    @invariant()
    def tally_is_the_sum_of_what_is_known(self):
        if not hasattr(self, "league"):
            return
        counts, paid = ({key: value[k] for key, value in self.began.items()} for k in (0, 1))
        for outcomes in self.known.values():
            for pair, reward in outcomes.items():
                if reward is not VOID:
                    counts[key_of(*pair)] = counts.get(key_of(*pair), 0) + 1
                    paid[key_of(*pair)] = paid.get(key_of(*pair), 0.0) + reward
        found = self.league.state.tally
        assert {key: found.counts[place] for key, place in found.index.items() if found.counts[place]} == counts
        for key, total in paid.items():
            assert found.paid[found.index[key]] == pytest.approx(total, abs=1e-9)
        open_pairs = [key for sheet in self.league.state.open.values() for key in sheet.waiting]
        assert self.league.state.waiting == {key: open_pairs.count(key) for key in open_pairs}
        for number, outcomes in self.known.items():
            record = self.league.record(number).state
            assert {pair_of(k): VOID if r is None else r for k, r in record.known.items()} == outcomes
            assert record.open == (number in self.league.state.open)


Machine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestMachine = Machine.TestCase


@pytest.mark.parametrize("key", ["policy", "deadline", "shadow", "seed"])
def test_a_damaged_key_of_the_first_event_is_said_in_one_line(key):
    data = dict(league().log[0].data)
    data[f"x{key}"] = data.pop(key)
    with pytest.raises(LeagueError, match=f"event 1 \\(created\\) does not fit.*it has no '{key}'") as refused:
        State().apply(Event(1, "", "created", data))
    assert refused.value.code == "damaged"
