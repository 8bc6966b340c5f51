"""A server that is killed again and again under load loses nothing and doubles nothing."""

import random
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from league_load import PLAYERS, SLUG, Load, check
from league_server import Server, new_token

from matchbandit.leagues import Store


def kill_under_load(url: str, folder: Path, *, servers: int, kills: int, outcomes: int) -> None:
    """Kill servers in turn until so many outcomes are acknowledged, at least so many times."""
    with Store(url) as store:
        store.create(SLUG, players=PLAYERS, seed=3)
    token, rng = new_token(url, "play"), random.Random(kills)
    with ExitStack() as stack:
        running = [stack.enter_context(Server(url, folder)) for _ in range(servers)]
        load = Load([server.address for server in running], token)
        done = 0
        while done < kills or (len(load.tells) < outcomes and not load.errors):
            load.wait_for(rng.randint(20, 40 + outcomes // (2 * kills)))
            running[done % servers].kill()
            running[done % servers].start()
            done += 1
        load.wait_for(20)
        load.stop()
        assert load.n_repeated > 0
        check(url, load)
        headers = {"Authorization": f"Bearer {token}"}
        for path in ("", "/ranking", "/results", "/proposals?limit=1000"):
            answers = [httpx.get(f"{s.address}/v1/leagues/{SLUG}{path}", headers=headers) for s in running]
            assert [answer.status_code for answer in answers] == [200] * servers
            assert len({answer.text for answer in answers}) == 1


def test_two_kills_lose_nothing(store_url: str, tmp_path: Path):
    kill_under_load(store_url, tmp_path, servers=1, kills=2, outcomes=200)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_many_kills_lose_nothing(store_url: str, servers: int, tmp_path: Path):
    kill_under_load(store_url, tmp_path, servers=servers, kills=12, outcomes=5000)
