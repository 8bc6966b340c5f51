"""The tables of a store. They are the truth: nothing has to be replayed.

`change` is the audit trail: each write of a league appends a row and takes the next version. Rows refer to the change
that wrote them last (`version`), which says who did it and when, and lets a process read only what is new to it.
"""

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    event,
)

VERSION = 3
"""Of these tables; 1 and 2 were those of matchbandit 0.7 and 1.0, which have other tables."""

metadata = MetaData()
Json = JSON(none_as_null=True)


def _league_id() -> Column[int]:
    return Column("league_id", ForeignKey("mb_league.id", ondelete="CASCADE"), primary_key=True)


def _ids() -> list[Column[int]]:
    return [Column(name, Integer, primary_key=True, autoincrement=False) for name in "ab"]


store = Table(
    "mb_store",
    metadata,
    Column("id", Integer, primary_key=True),  # always 1; writes that are not about one league lock this row
    Column("version", Integer, nullable=False),
    Column("secret", Text, nullable=False),  # with which idempotency keys are hashed
)

league = Table(
    "mb_league",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("sides", Json),  # the names of both, or null for players
    Column("rewards", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("stream", Text, nullable=False),  # names its random streams: the slug with which it was created
    Column("settings", Json, nullable=False),
    Column("version", BigInteger, nullable=False),  # the last change
    Column("decision_version", BigInteger, nullable=False),  # the last change that a decision in progress must not miss
    Column("rules_version", BigInteger, nullable=False),  # the last change of a rule
    Column("items_version", BigInteger, nullable=False),  # the last change of an item's name, side or presence
    Column("n_results", BigInteger, nullable=False),  # outcomes that are not void, and past results
    Column("fit", Json),  # the last test whether the results fit the model; see `model.FitTest`
    Column("n_proposals", BigInteger, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("archived_at", Text),
    Column("deleted_at", Text),
    sqlite_autoincrement=True,  # the id of a deleted league is not used again
)

item = Table(
    "mb_item",
    metadata,
    _league_id(),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("side", Integer, nullable=False),  # 0 or 1; players are all on side 0
    Column("position", Integer, nullable=False),  # on its side, from 0: its vertex in the graph of a policy
    Column("name", Text),  # null once it is erased
    Column("active", Boolean, nullable=False),
    Column("byes", Integer, nullable=False),
    Column("bye_level", Integer, nullable=False),  # byes as they count towards whose turn it is; see `items.level`
    Column("last_bye", BigInteger, nullable=False),  # the last proposal that it sat out or missed
    Column("version", BigInteger, nullable=False),
    Index("mb_item_name", "league_id", "side", "name", unique=True),
    sqlite_with_rowid=False,
)

rule = Table(
    "mb_rule",
    metadata,
    _league_id(),
    *_ids(),
    Column("kind", Text, nullable=False),  # "exclude" or "pin"
    Column("version", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

proposal = Table(
    "mb_proposal",
    metadata,
    _league_id(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("due", Text),
    Column("n_pairs", Integer, nullable=False),
    Column("n_waiting", Integer, nullable=False),
    Column("policy", Text, nullable=False),
    Column("available", Json),  # ids; null: all active items
    Column("byes", Json, nullable=False),  # ids
    Column("notes", Json, nullable=False),  # codes and ids
    Column("n_results", BigInteger, nullable=False),  # of the league, when it was decided
    Column("expected", Float, nullable=False),
    Column("low", Float, nullable=False),
    Column("high", Float, nullable=False),
    Column("best", Float, nullable=False),
    Column("exact", Boolean, nullable=False),
    Column("bound", Float),
    Column("propensity_draws", Integer),
    Column("based_on", BigInteger, nullable=False),  # the version of the league that was decided upon
    Column("version", BigInteger, nullable=False),  # the change that created it
    sqlite_with_rowid=False,
)
for _name, _columns in (("open", "league_id, number"), ("due", "due")):
    # An index with `postgresql_where` would import that dialect, also for SQLite, at a tenth of the time of a `tell`.
    _create = f"CREATE INDEX mb_proposal_{_name} ON mb_proposal ({_columns}) WHERE n_waiting > 0"
    event.listen(proposal, "after_create", DDL(_create))  # type: ignore[no-untyped-call]

proposal_pair = Table(
    "mb_proposal_pair",
    metadata,
    Column("league_id", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    *_ids(),
    Column("position", Integer, nullable=False),
    Column("fixed", Boolean, nullable=False),
    Column("in_best_guess", Boolean, nullable=False),
    Column("expected", Float, nullable=False),
    Column("low", Float),  # null in large leagues
    Column("high", Float),
    Column("value", Float),
    Column("propensity", Float),
    Column("outcome", Float),  # null: void, if `outcome_version` is set
    Column("outcome_version", BigInteger),  # the change that set the outcome; null: it is missing
    ForeignKeyConstraint(["league_id", "number"], ["mb_proposal.league_id", "mb_proposal.number"], ondelete="CASCADE"),
    Index("mb_pair_of_items", "league_id", "a", "b"),
    sqlite_with_rowid=False,
)

past_result = Table(
    "mb_past_result",
    metadata,
    _league_id(),
    *_ids(),
    Column("count", BigInteger, nullable=False),
    Column("total", Float, nullable=False),
    sqlite_with_rowid=False,
)

change = Table(
    "mb_change",
    metadata,
    _league_id(),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("data", Json, nullable=False),  # ids, never names
    sqlite_with_rowid=False,
)

idempotency_key = Table(
    "mb_idempotency_key",
    metadata,
    Column("scope", Text, primary_key=True),  # the id of a league, or "store"
    Column("key", Text, primary_key=True),  # a keyed hash
    Column("request", Text, nullable=False),  # a keyed hash of what was asked for
    Column("answer", Json, nullable=False),  # ids and numbers, never names
    Column("at", Text, nullable=False),
    Index("mb_idempotency_key_at", "at"),
    sqlite_with_rowid=False,
)

token = Table(
    "mb_token",
    metadata,
    Column("id", Text, primary_key=True),
    Column("label", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("leagues", Json),  # slugs; null: all
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("revoked_at", Text),
)

session = Table(
    "mb_session",
    metadata,
    Column("id", Text, primary_key=True),  # a hash of what the cookie holds
    Column("token_id", ForeignKey("mb_token.id", ondelete="CASCADE"), nullable=False),
    Column("expires_at", Text, nullable=False),
)
