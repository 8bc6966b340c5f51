"""Snapshots: the state of a league now and then, so that a restart does not fold the log from its beginning.

They are a convenience, never the truth: one that is damaged, or of another version, is left aside.
"""

import json
import zlib
from hashlib import blake2b

from sqlalchemy import Connection, delete, insert, select

from matchbandit.live import schema
from matchbandit.live.errors import LeagueError
from matchbandit.live.state import SNAPSHOT_VERSION, State

_TABLE = schema.snapshots.c
_KEPT = 2
_OFTEN = 2000
_SELDOM = 50_000


def is_time(state: State, last: int) -> bool:
    """Is a new one worth its price? `last` is the seq of the one before.

    Every 2000 events. In a large league a snapshot costs as much as folding so many events as a fifth of its pairs;
    there it is made after that many.
    """
    return state.seq - last >= min(max(_OFTEN, len(state.tally) // 5), _SELDOM)


def encoded(state: State) -> bytes:
    """The state as it is stored."""
    return zlib.compress(json.dumps(state.snapshot(), separators=(",", ":")).encode(), 1)


def save(connection: Connection, league: int, seq: int, data: bytes) -> None:
    """Keep this one and the one before it."""
    seqs = list(connection.execute(select(_TABLE.seq).where(_TABLE.league_id == league)).scalars())
    if seq in seqs:
        return
    row = {"league_id": league, "seq": seq, "version": SNAPSHOT_VERSION, "data": data, "checksum": _checksum(data)}
    connection.execute(insert(schema.snapshots).values(row))
    old = sorted([*seqs, seq])[:-_KEPT]
    if old:
        connection.execute(delete(schema.snapshots).where(_TABLE.league_id == league, _TABLE.seq.in_(old)))


def load(connection: Connection, league: int, *, up_to: int) -> State | None:
    """The newest state that can be read, at most that after event `up_to`; None if there is none."""
    newest_first = (
        select(_TABLE.seq, _TABLE.data, _TABLE.checksum)
        .where(_TABLE.league_id == league, _TABLE.version == SNAPSHOT_VERSION, _TABLE.seq <= up_to)
        .order_by(_TABLE.seq.desc())
    )
    for seq, data, checksum in connection.execute(newest_first):
        state = decoded(data, checksum)
        if state is not None and state.seq == seq:
            return state
    return None


def all_of(connection: Connection, league: int) -> dict[int, tuple[bytes, str]]:
    """All that are kept in this version, by seq: data and checksum."""
    kept = select(_TABLE.seq, _TABLE.data, _TABLE.checksum)
    mine = kept.where(_TABLE.league_id == league, _TABLE.version == SNAPSHOT_VERSION)
    return {seq: (data, checksum) for seq, data, checksum in connection.execute(mine)}


def decoded(data: bytes, checksum: str) -> State | None:
    """The state in a snapshot; None if it is damaged."""
    if _checksum(data) != checksum:
        return None
    try:
        return State.restored(json.loads(zlib.decompress(data)))
    except (LeagueError, ValueError, KeyError, zlib.error):
        return None


def _checksum(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
