"""The lock that is handed over in the order of arrival."""

import time
from threading import Thread

from matchbandit.live.fair_lock import FairLock


def waiting(lock: FairLock, n: int) -> None:
    while len(lock._waiting) < n:
        time.sleep(0.0005)


def test_first_come_first_served():
    lock, served = FairLock(), []

    def take(who: int) -> None:
        with lock:
            served.append(who)

    threads = [Thread(target=take, args=(who,)) for who in range(8)]
    with lock:
        for number, thread in enumerate(threads, start=1):
            thread.start()
            waiting(lock, number)
    for thread in threads:
        thread.join()
    assert served == list(range(8))


def test_whoever_has_just_released_it_lines_up_again():
    lock, served = FairLock(), []

    def take() -> None:
        with lock:
            served.append("other")

    other = Thread(target=take)
    with lock:
        other.start()
        waiting(lock, 1)
    with lock:
        served.append("first again")
    other.join()
    assert served == ["other", "first again"]


def test_patience_ends():
    lock = FairLock()
    assert lock.acquire()
    assert not lock.acquire(timeout=0.001)
    lock.release()
    assert lock.acquire(timeout=0.001)  # who gave up is not in line any more
    lock.release()
