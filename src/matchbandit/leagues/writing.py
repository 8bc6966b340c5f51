"""Write a decided proposal."""

from dataclasses import fields
from operator import attrgetter
from types import SimpleNamespace

from sqlalchemy import insert

from matchbandit.leagues import items, rules, schema
from matchbandit.leagues.deciding import Draft, Inputs, ProposedPair
from matchbandit.leagues.reading import pair_record, proposal_record
from matchbandit.leagues.records import Proposal
from matchbandit.leagues.transaction import Statement, Transaction, add_seconds

_INSERT_PROPOSAL, _INSERT_PAIRS = insert(schema.proposal), Statement(insert(schema.proposal_pair))
_VALUES = [field.name for field in fields(ProposedPair) if field.name != "ids"]


def write_proposal(tx: Transaction, inputs: Inputs, draft: Draft) -> Proposal:
    """Write a proposal; returns it as `reading.proposal` would."""
    settings, n_pairs = tx.league.settings, len(draft.pairs)
    fixed = [pair.ids for pair in draft.pairs if pair.fixed]
    content = {"proposal": draft.number, "n_pairs": n_pairs}
    version = tx.record("ask", content, rules=bool(fixed), n_proposals=draft.number)
    row = {name: value for name, value in vars(draft).items() if name != "pairs"}
    row |= {"league_id": tx.league.id, "n_pairs": n_pairs, "n_waiting": n_pairs, "version": version}
    row["due"] = None if settings["deadline"] is None else add_seconds(tx.now, settings["deadline"])
    row |= {"policy": settings["policy"], "propensity_draws": settings["record_propensity"] or None}
    tx.connection.execute(_INSERT_PROPOSAL, row)
    of_pair = attrgetter(*_VALUES)
    _INSERT_PAIRS.execute_many(
        tx.connection,
        ("a", "b", "position", *_VALUES),
        ((*pair.ids, position, *of_pair(pair)) for position, pair in enumerate(draft.pairs)),
        league_id=tx.league.id,
        number=draft.number,
        outcome=None,
        outcome_version=None,
    )
    rules.use_up(tx, "pin", fixed)
    items.count_byes(tx, draft.available, draft.byes, draft.number, version)
    pairs = [pair_record(pair, pair.ids, None, inputs.state, draft.n_results) for pair in draft.pairs]
    return proposal_record(SimpleNamespace(**row), pairs, inputs.state, tx.now)
