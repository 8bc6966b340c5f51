"""RequestLimits: rates, bodies that are too large or too slow, answers that do not come."""

import asyncio
import json
import threading
from time import sleep

import pytest
from asgi import code_of, request

from matchbandit.service import limits
from matchbandit.service.limits import Buckets, RequestLimits
from matchbandit.service.logs import CONTEXT, RequestContext
from matchbandit.service.settings import Settings


async def echo(scope, receive, send):
    """An app that sends back what it gets."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def never(scope, receive, send):
    raise AssertionError("nothing may come through")


def within(**settings):
    return Settings(**{"body_bytes": 10, "body_seconds": 0.02, **settings})


@pytest.fixture
def context():
    return RequestContext("an-id")


def test_buckets_fill_at_their_rate(ticks):
    buckets = Buckets(2.0, 3, ticks)
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0.5, 0.5]
    assert buckets.wait("a") == 0.5
    assert buckets.wait("b") == 0
    ticks.now += 0.75
    assert [buckets.take("a"), buckets.take("a")] == [0, 0.25]
    assert buckets.take("b") == 0
    ticks.now += 1e6
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_buckets_forget_who_was_not_seen_for_longest(ticks):
    buckets = Buckets(1.0, 1, ticks, max_keys=2)
    for key in ("a", "b", "a", "c"):  # taking in vain is no visit
        buckets.take(key)
    assert [buckets.wait(key) for key in "abc"] == [0, 1, 1]


def test_a_body_within_the_limit_arrives_whole(context):
    assert request(RequestLimits(echo, within()), body=[b"12345", b"", b"67890"], context=context)[2] == b"1234567890"


def test_a_body_that_announces_too_much_is_not_read(context, monkeypatch):
    monkeypatch.setattr(limits, "_LINGER_SECONDS", 0.02)
    headers = [("Content-Length", str(10**9))]
    status, answer, body, read = request(RequestLimits(never, within()), headers=headers, body=[None], context=context)
    assert (status, code_of(body), read) == (413, "body-too-large", 0)
    assert answer["connection"] == "close"
    assert int(answer["content-length"]) == len(body)
    assert "at most 10 bytes" in json.loads(body)["detail"]
    assert context.code == "body-too-large"


def test_a_body_in_parts_is_cut_off_at_the_limit(context, monkeypatch):
    kept = []

    async def listened(receive):
        kept.append(await receive())

    monkeypatch.setattr(limits, "_listen", listened)

    status, _, body, read = request(RequestLimits(never, within()), body=[b"123456"] * 1000, context=context)
    assert (status, code_of(body)) == (413, "body-too-large")
    assert read == 3  # two until it was too much, one while the client was heard out
    assert len(kept) == 1


@pytest.mark.parametrize("length", ["-1", "x", "٣", "9" * 30, ""])
def test_a_length_that_is_no_number_is_not_believed(context, length):
    app = RequestLimits(echo, within())
    scope = {"type": "http", "headers": [(b"content-length", length.encode())]}
    assert limits._content_length(scope) == 0
    assert request(app, body=[b"123"], context=context)[2] == b"123"


def test_a_body_that_does_not_come_is_not_waited_for(context):
    status, answer, body, _ = request(RequestLimits(never, within()), body=[b"12", None], context=context)
    assert (status, code_of(body), answer["connection"]) == (408, "body-too-slow", "close")


def test_a_client_that_has_gone_gets_no_answer(context):
    assert request(RequestLimits(never, within()), body=[], context=context)[0] == 0


def test_an_answer_that_does_not_come_is_told_so_and_the_work_goes_on(context):
    done = threading.Event()

    async def slow(scope, receive, send):
        await asyncio.to_thread(release.wait)
        await echo(scope, receive, send)  # too late: nobody may see this
        done.set()

    async def run(scope, receive, send):
        await RequestLimits(slow, within(answer_seconds=0.02))(scope, receive, send)
        release.set()
        while not done.is_set():
            await asyncio.sleep(0.001)

    release = threading.Event()
    status, answer, body, _ = request(run, body=[b"1"], context=context)
    assert (status, code_of(body), answer["retry-after"]) == (503, "answer-too-slow", "1")
    assert "Idempotency-Key" in json.loads(body)["detail"]


def test_an_answer_that_has_begun_may_take_its_time(context):
    async def stream(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.05)
        await send({"type": "http.response.body", "body": b"end"})

    assert request(RequestLimits(stream, within(answer_seconds=0.02)), context=context)[2] == b"end"


def test_a_failure_of_the_app_comes_through(context):
    async def fails(scope, receive, send):
        raise KeyError("x")

    with pytest.raises(KeyError):
        request(RequestLimits(fails, within()), context=context)


def test_settings_are_checked():
    for wrong in ({"body_bytes": 0}, {"rate": 0}, {"burst": 1.5}, {"answer_seconds": -1}, {"tick_seconds": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Settings(**wrong)
    assert Settings(tick_seconds=0).tick_seconds == 0


def test_too_many_at_once_are_turned_away_but_slow_senders_keep_nobody_out(context):
    async def app(scope, receive, send):
        if scope["path"] == "/first":  # a second request while the first is worked on
            seen.append(await asked(wall, "/second"))
        await echo(scope, receive, send)

    async def asked(wall, path, *, slow=False):
        async def receive():
            if slow:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            answers.append(message)

        answers = []
        await wall({"type": "http", "path": path, "method": "POST", "headers": [], CONTEXT: context}, receive, send)
        return answers[0]["status"] if answers else None

    async def all_of_them():
        senders = [asyncio.create_task(asked(wall, "/slow", slow=True)) for _ in range(5)]
        await asyncio.sleep(0)  # they have begun, and send nothing
        first = await asked(wall, "/first")
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)
        return first, await asked(wall, "/later")

    seen = []
    wall = RequestLimits(app, within(in_flight=1, body_seconds=60))
    assert asyncio.run(all_of_them()) == (200, 200)
    assert seen == [503]


def test_buckets_are_shared_by_threads():
    """No permit is given to two threads, though others run whenever the clock is read."""

    def clock() -> float:
        sleep(0.0005)
        return 0.0

    buckets, permits = Buckets(1e-9, 10, clock), []

    def take() -> None:
        permits.append(sum(buckets.take("a") == 0 for _ in range(10)))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(permits) == 10


def test_a_permit_can_be_given_back(ticks):
    buckets = Buckets(1.0, 2, ticks)
    assert [buckets.take("a"), buckets.take("a"), buckets.take("a")] == [0, 0, 1]
    buckets.give_back("a")
    assert [buckets.take("a"), buckets.take("a")] == [0, 1]
    buckets.give_back("b")  # a full bucket holds no more
    assert [buckets.take("b"), buckets.take("b"), buckets.take("b")] == [0, 0, 1]
