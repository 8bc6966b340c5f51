import numpy as np
import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite
from matchbandit.policies import CATALOGUE, check_policy, policy
from matchbandit.policies.capabilities import Capabilities
from matchbandit.policies.check import ContractError
from matchbandit.policies.pair.pair_elim import PairElim
from matchbandit.policies.pair.uts import Uts
from matchbandit.policies.uniform import Uniform

QUICK = ("pair-elim", "rank1-elim", "uts", "cucb", "escb", "exploration-first", "uniform")
"""Policies of every kind whose check takes about a second."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CATALOGUE]
)
@pytest.mark.sampled(2)
def test_every_policy_of_the_catalogue_keeps_the_contract(name):
    check_policy(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pair-elim", {"growth": 1.0}),
        ("pair-elim", {"growth": 1.05, "cap_windows": True}),
        ("uts", {"gamma": 5}),
        ("uniform", {"selection": "matching"}),
    ],
)
def test_the_contract_holds_with_options(name, options):
    check_policy(policy(name, **options))


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_knows_each_policy_by_its_own_name(name):
    assert CATALOGUE[name].name == name


class Forgetful(PairElim):
    state_fields = ("rows", "columns", "certifying")


class Fickle(Uniform):
    def ask(self):
        return super().ask()[:, :: self.rng.choice([1, -1])]


class Global(Uts):
    def recommend(self):
        np.random.random()  # noqa: NPY002
        return super().recommend()


class TooWide(Uniform):
    def ask(self):
        return np.vstack([super().ask()] * 2)


class Gullible(Uniform):
    def _in_order(self, asked, pairs, rewards):
        return np.resize(np.nan_to_num(np.asarray(rewards, dtype=float)), len(asked))


@pytest.mark.parametrize("broken", [Forgetful, Fickle, Global, TooWide, Gullible])
def test_a_policy_that_breaks_the_contract_is_caught(broken):
    with pytest.raises(ContractError):
        check_policy(broken)


class EndlessPlans(Uniform):
    name, capabilities = "endless", Capabilities(selections=("pair",), goals=("identification",))


class EndlessRounds(Uts):
    name, capabilities = "endless", Capabilities(selections=("pair",), goals=("identification",))


@pytest.mark.parametrize("broken", [EndlessPlans, EndlessRounds])
def test_a_policy_that_identifies_says_when_it_is_finished(broken):
    with pytest.raises(ContractError, match="endless claims to identify, and has no finished: it would never answer"):
        check_policy(broken)


def test_a_breach_names_the_policy_and_the_setting():
    with pytest.raises(ContractError, match="uts on bipartite 1×1"):
        check_policy(Global)


class HalfForgetful(Uniform):
    def _memory(self):
        return {**super()._memory(), "partial": None}


class Dropping(Uniform):
    def state(self):
        open_round, self._asked = self._asked, None
        kept = super().state()
        self._asked = open_round
        return kept


class Zeroing(Uniform):
    def _receive(self, edges, rewards):
        super()._receive(edges, np.nan_to_num(rewards))


class AnyNumber(Uniform):
    def _refuse_incompatibility(self):
        pass

    def plan(self):
        return super().plan() if self.graph.shape[0] != 5 or self.selection == "pair" else None


class Careless(PairElim):
    def _refuse_incompatibility(self):
        pass


class Crashing(Uniform):
    def explain_extra(self):
        raise IndexError("out of range")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("broken", [HalfForgetful, Dropping, Zeroing, AnyNumber, Careless, Crashing])
def test_defects_that_show_only_at_odd_moments_are_caught(broken):
    with pytest.raises(ContractError):
        check_policy(broken)


class Leaking(PairElim):
    """What `learn` changed in place stays when it is interrupted."""

    def _snapshot(self):
        fields = {name: getattr(self, name) for name in self.state_fields}
        rollback = super()._snapshot()
        return lambda: (rollback(), self.__dict__.update(fields))


class LeakingUpdate(Uts):
    def _mutable_arrays(self, arrays):
        return iter(())


class Redefining(Uniform):
    """It forgets the option that it was built with."""

    def __init__(self, setting, rng, *, selection=None, depth: int = 3):
        super().__init__(setting, rng, selection=selection)
        del self.options["depth"]


class Replacing(Uniform):
    """It takes only the default, and says so to nobody."""

    def __init__(self, setting, rng, *, selection=None, depth: int = 3):
        super().__init__(setting, rng, selection=selection)
        self.options["depth"] = 3


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Leaking, r"a tell\(\) (that was interrupted|after an interrupted one)"),
        (LeakingUpdate, "an update that failed|interrupted"),
        (Redefining, r"the options \['depth'\] are not among"),
        (Replacing, "the option depth=2 became 3"),
    ],
)
@pytest.mark.sampled(1)
def test_half_changes_and_lost_options_are_caught(broken, words):
    with pytest.raises(ContractError, match=words):
        check_policy(broken)


class Kept(Uniform):
    """An option that its constructor does not hand on is in its state all the same."""

    def __init__(self, setting, rng, *, selection=None, depth: int = 3):
        super().__init__(setting, rng, selection=selection)
        self.depth = depth


class Narrow(PairElim):
    """It decides on options of its base class, and has one of its own."""

    def __init__(self, setting, rng, *, speed: float = 2.0):
        super().__init__(setting, rng, growth=speed, cap_windows=True)


@pytest.mark.slow
def test_a_subclass_decides_on_options_of_its_base_class():
    built = policy(Narrow, speed=3.0).build(bipartite(2, 2), horizon=100)
    assert built.options == {"speed": 3.0, "growth": 3.0, "cap_windows": True, "delta": None}
    assert built.scales.permanent.growth == 3.0
    check_policy(Narrow)


class Forgets(PairElim):
    """It takes an option of its base class, and does not pass it on."""

    def __init__(self, setting, rng, *, growth: float = 2.0):
        super().__init__(setting, rng)


@pytest.mark.slow
def test_an_option_that_a_constructor_does_not_pass_on_is_caught():
    with pytest.raises(ContractError, match=r"the option growth=1\.0 became 4\.0"):
        check_policy(Forgets)


def test_an_option_need_not_be_handed_on():
    built = policy(Kept, depth=5).build(bipartite(2, 2))
    assert built.options == {"selection": "pair", "depth": 5}
    fresh = policy(Kept, depth=5).build(bipartite(2, 2))
    fresh.load(built.state())
    with pytest.raises(MatchbanditError, match="the state has options"):
        policy(Kept).build(bipartite(2, 2)).load(built.state())


def test_a_breach_is_an_error_of_ours():
    assert issubclass(ContractError, MatchbanditError)
    assert issubclass(ContractError, AssertionError)


@pytest.mark.parametrize(
    "spec",
    [
        policy("pair-elim", delta=0.1),
        pytest.param(policy("pair-elim-mono", delta=0.3), marks=pytest.mark.slow),
        pytest.param(policy("pair-select", delta=0.3), marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_contract_holds_for_policies_that_identify(spec):
    check_policy(spec)


def test_own_classes_build_like_those_of_the_catalogue():
    built = policy(Forgetful, growth=2.0).build(bipartite(2, 2), horizon=10)
    assert isinstance(built, Forgetful)
    assert built.options["growth"] == 2.0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"selections": "pair"}, r"selections is a tuple of names, such as \('pair',\); got 'pair'"),
        ({"selections": ("pairs",)}, r"unknown name in selections 'pairs'; did you mean 'pair'\?"),
        ({"selections": ("matching",), "byes": True}, r"byes is a tuple of names, such as \('regret',\); got True"),
        ({"selections": ("pair",), "graphs": ("bipartit",)}, "unknown name in graphs 'bipartit'"),
    ],
)
def test_capabilities_refuse_names_that_do_not_exist(fields, words):
    with pytest.raises(MatchbanditError, match=words):
        Capabilities(**fields)
