"""Snapshots of league states, so that a restart does not replay the whole log.

The log is authoritative: a snapshot that is damaged or of another version is ignored.
"""

import json
import zlib
from hashlib import blake2b

from sqlalchemy import Connection, delete, insert, select

from matchbandit.live import schema
from matchbandit.live.errors import LeagueError
from matchbandit.live.state import SNAPSHOT_VERSION, State

_TABLE = schema.snapshots.c
_KEEP = 2
_MIN_EVENTS = 2000
_MAX_EVENTS = 50_000
"""Between two snapshots."""


def is_due(state: State, last: int) -> bool:
    """Is it time for a new snapshot? `last` is the event number of the previous one.

    One is due every 2000 events. In a large league a snapshot costs as much as replaying one event for every five
    pairs, so it waits for that many.
    """
    return state.seq - last >= min(max(_MIN_EVENTS, len(state.tally) // 5), _MAX_EVENTS)


def encode(state: State) -> bytes:
    """Serialize and compress a state."""
    return zlib.compress(json.dumps(state.snapshot(), separators=(",", ":")).encode(), 1)


def save(connection: Connection, league: int, seq: int, data: bytes) -> None:
    """Store a snapshot and delete all but the one before it."""
    seqs = list(connection.execute(select(_TABLE.seq).where(_TABLE.league_id == league)).scalars())
    if seq in seqs:
        return
    row = {"league_id": league, "seq": seq, "version": SNAPSHOT_VERSION, "data": data, "checksum": _checksum(data)}
    connection.execute(insert(schema.snapshots).values(row))
    old = sorted([*seqs, seq])[:-_KEEP]
    if old:
        connection.execute(delete(schema.snapshots).where(_TABLE.league_id == league, _TABLE.seq.in_(old)))


def load(connection: Connection, league: int, *, up_to: int) -> State | None:
    """The newest readable state at or before event `up_to`; None if there is none."""
    newest_first = (
        select(_TABLE.seq, _TABLE.data, _TABLE.checksum)
        .where(_TABLE.league_id == league, _TABLE.version == SNAPSHOT_VERSION, _TABLE.seq <= up_to)
        .order_by(_TABLE.seq.desc())
    )
    for seq, data, checksum in connection.execute(newest_first):
        state = decode(data, checksum)
        if state is not None and state.seq == seq:
            return state
    return None


def read_all(connection: Connection, league: int) -> dict[int, tuple[bytes, str]]:
    """Data and checksum of all snapshots of the current version, by event number."""
    columns = select(_TABLE.seq, _TABLE.data, _TABLE.checksum)
    rows = columns.where(_TABLE.league_id == league, _TABLE.version == SNAPSHOT_VERSION)
    return {seq: (data, checksum) for seq, data, checksum in connection.execute(rows)}


def decode(data: bytes, checksum: str) -> State | None:
    """Inverse of `encode`; None if the data is damaged."""
    if _checksum(data) != checksum:
        return None
    try:
        return State.from_snapshot(json.loads(zlib.decompress(data)))
    except (LeagueError, ValueError, KeyError, zlib.error):
        return None


def _checksum(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
