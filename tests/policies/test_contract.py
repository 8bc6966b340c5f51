import numpy as np
import pytest

from matchbandit.errors import MatchbanditError
from matchbandit.graphs import bipartite
from matchbandit.policies import CATALOGUE, check_policy, policy
from matchbandit.policies.contract import ContractError
from matchbandit.policies.pair.pair_elim import PairElim
from matchbandit.policies.pair.uts import Uts
from matchbandit.policies.uniform import Uniform


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_policy_of_the_catalogue_keeps_the_contract(name):
    check_policy(name)


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
    remembered = ("rows", "columns", "window")


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


def test_a_breach_names_the_policy_and_the_setting():
    with pytest.raises(ContractError, match="uts on bipartite 1×1"):
        check_policy(Global)


def test_a_policy_that_fits_everything_by_mistake_is_caught():
    class Careless(PairElim):
        def _refuse_misfit(self):
            pass

    with pytest.raises((ContractError, MatchbanditError, ValueError)):
        check_policy(Careless)


def test_own_classes_build_like_those_of_the_catalogue():
    built = policy(Forgetful, growth=2.0).build(bipartite(2, 2), horizon=10)
    assert isinstance(built, Forgetful)
    assert built.options["growth"] == 2.0
