"""Parts of a study on the workers of a dask scheduler, on this machine or on many."""

import importlib
import logging
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any
from uuid import uuid4

from matchbandit.errors import MatchbanditError
from matchbandit.extras import need
from matchbandit.simulation.parallel import worker_count
from matchbandit.studies.parts import FinishedPart, Part, play_part
from matchbandit.studies.processes import POLL_S, compile_points
from matchbandit.studies.versions import user_files, versions

MAX_TRIES = 20
"""How often a part is sent out anew after its workers were lost; each time the scheduler itself tries a few."""
CONNECT_TIMEOUT_S = 6
REPORT_INTERVAL_S = 1.0
"""Between two words of a worker on how far a part is."""
_LOCAL = "local"
_unpacking = threading.Lock()


@contextmanager
def connect(address: str, workers: int | None, *, allow_other_versions: bool) -> Iterator["Cluster"]:
    """The workers of the scheduler at this address, checked; or of one that lives as long as the block does."""
    distributed = need("distributed", "a study on dask")
    with ExitStack() as stack:
        stack.enter_context(_silence())
        if address == _LOCAL:
            stack.enter_context(_no_main())
            scheduler: Any = stack.enter_context(_local_cluster(distributed, workers))
        else:
            scheduler = address
        client = _client(distributed, scheduler, address)
        stack.callback(_close, client)
        cluster = Cluster(client, address, allow_other_versions)
        cluster.refuse_other_versions()
        yield cluster


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler, before anything is made."""
    distributed = need("distributed", "a study on dask")
    if address != _LOCAL:
        try:
            distributed.comm.get_address_host(address)
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise _no_scheduler(address, error) from None


class Cluster:
    """Workers that play parts; the parts of a worker that is lost are sent out again."""

    def __init__(self, client: Any, address: str, allow_other_versions: bool) -> None:
        """Workers that a client has reached."""
        self._client, self._address, self._allow = client, address, allow_other_versions

    @property
    def threads(self) -> int:
        """How many parts are played at a time."""
        return sum(self._client.nthreads().values())

    def refuse_other_versions(self) -> None:
        """Refuse workers that have other versions of what computes, or none."""

        def probe() -> dict[str, str]:  # sent by value: a worker may not have this package
            from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

            def installed(name: str) -> str:
                try:
                    return version(name)
                except PackageNotFoundError:
                    return "missing"

            return {name: installed(name) for name in ("matchbandit", "numpy", "numba")}

        for worker, installed in self._client.run(probe).items():
            self._refuse_if_other(installed, f"the worker {worker}")

    def play(
        self,
        parts: Sequence[Part],
        columns: Mapping[str, Any],
        user_code: Mapping[str, str],
        *,
        keep: Callable[[FinishedPart], None],
        tick: Callable[[int, str], None],
    ) -> None:
        """Play the parts; `keep` gets each once, as it is finished, `tick` the runs under way and what is done."""
        if self._address == _LOCAL:
            compile_points([part.point for part in parts], tick)
        files = _files_of(user_code)
        topic = f"matchbandit-{uuid4()}"
        counts: dict[int, int] = {}
        done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._client.subscribe_topic(topic, lambda event: counts.update([event[1]]))
        tries = [0] * len(parts)
        open_parts: dict[int, Any] = {}

        def send(at: int) -> None:
            tries[at] += 1
            sent = (at, topic, files, _packed((parts[at], dict(columns), dict(user_code))))
            future = self._client.submit(play_on_worker, *sent, key=f"{topic}-{at}-{tries[at]}", pure=False)
            open_parts[at] = future
            future.add_done_callback(lambda future: done.put((at, future)))

        activity, last_look = "workers get ready", time.monotonic()
        has_begun = False
        try:
            for at in range(len(parts)):
                send(at)
            while open_parts:
                with suppress(Empty):
                    at, future = done.get(timeout=POLL_S)
                    if open_parts.get(at) is future:
                        finished = self._result(future, parts[at], tries[at])
                        del open_parts[at]
                        counts.pop(at, None)
                        if finished is None:
                            send(at)
                        else:
                            keep(finished)
                            has_begun = True
                if self._client.status != "running":
                    raise self._lost()
                if time.monotonic() >= last_look + REPORT_INTERVAL_S:
                    last_look = time.monotonic()
                    ready = "" if has_begun else "workers get ready"  # they may have to compile
                    activity = ready if self.threads else "waiting for workers"
                under_way = sum(counts.get(at, 0) for at in open_parts)
                has_begun = has_begun or under_way > 0
                tick(under_way, activity)
        except OSError:  # so end all calls to a scheduler that is no more
            raise self._lost() from None
        finally:
            with suppress(Exception):
                self._client.cancel(list(open_parts.values()), force=True)

    def _result(self, future: Any, part: Part, tries: int) -> FinishedPart | None:
        """What came of a part; None if its workers were lost and it is worth another try."""
        distributed = need("distributed", "a study on dask")
        try:
            finished: FinishedPart = future.result(timeout=60)
        except distributed.KilledWorker:
            if tries < MAX_TRIES:
                return None
            raise MatchbanditError(
                f"{part.point.title}, runs {part.first} to {part.last}: workers were lost {tries} times over it, "
                f"perhaps for lack of memory. Use smaller parts (--part-runs), or larger workers."
            ) from None
        except (distributed.CancelledError, TimeoutError, OSError):
            if self._client.status != "running":
                raise self._lost() from None
            return None
        self._refuse_if_other(finished.made_with, "a worker")
        return finished

    def _lost(self) -> MatchbanditError:
        return MatchbanditError(f"the scheduler at {self._address} was lost.")

    def _refuse_if_other(self, installed: Mapping[str, str], who: str) -> None:
        differing = [
            f"{name} {installed[name]} in place of {now}"
            for name, now in versions().items()
            if name != "python" and installed.get(name, now) != now
        ]
        if differing and (not self._allow or installed["matchbandit"] == "missing"):
            raise MatchbanditError(
                f"{who} has {', '.join(differing)}. Install the same versions there as here"
                f"{'' if installed['matchbandit'] == 'missing' else ', or continue with --allow-other-versions'}."
            )


def play_on_worker(at: int, topic: str, files: Mapping[str, bytes], packed: bytes) -> FinishedPart:
    """On a worker: unpack a part and play it, with a word now and then on how far it is."""
    worker = need("distributed", "a study on dask").get_worker()
    if files:
        _unpack(files, Path(worker.local_directory))
    part, columns, user_code = pickle.loads(packed)
    last_report = time.monotonic()

    def on_progress(done: int, _total: int) -> None:
        nonlocal last_report
        if time.monotonic() >= last_report + REPORT_INTERVAL_S:
            last_report = time.monotonic()
            worker.log_event(topic, [at, done])

    return play_part(part, columns, user_code, on_progress)


def _files_of(modules: Iterable[str]) -> dict[str, bytes]:
    """The files of the user's own modules that lie in folders of theirs, by their paths from there."""
    files: dict[str, bytes] = {}
    for name in modules:
        if name.partition(":")[0] == "__main__":
            raise MatchbanditError(
                "a policy or family that is written in a script or notebook cannot be sent to other machines. "
                "Put it into a file, such as my_policies.py, and import it from there."
            )
        for path, content in user_files(name, also_installed=False).items():
            if files.setdefault(path, content) != content:
                raise MatchbanditError(f"two of your modules are both called {path}. Rename one.")
    return files


def _unpack(files: Mapping[str, bytes], parent: Path) -> None:
    """Make the user's modules importable here, in place of those of the same names from before.

    dask's own `UploadDirectory` needs nannies, keeps modules that a worker has imported already unless it restarts all
    workers of the cluster, and stays registered for other users of the scheduler.
    """
    name = blake2b(repr(sorted(files.items())).encode(), digest_size=8).hexdigest()
    folder = parent / f"matchbandit-{name}"
    with _unpacking:
        if str(folder) in sys.path[:1]:
            return
        for path, content in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        sys.path[:] = [str(folder), *(path for path in sys.path if path != str(folder))]
        tops = {path.partition("/")[0].removesuffix(".py") for path in files}
        for module in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[module]
        importlib.invalidate_caches()


def _packed(part: object) -> bytes:
    """As bytes, which the scheduler passes on without looking: it need not have the user's modules."""
    return pickle.dumps(part)


def _local_cluster(distributed: Any, workers: int | None) -> Any:
    try:
        return distributed.LocalCluster(
            n_workers=worker_count(workers, sys.maxsize),
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",  # any free port: None would take 8787, and warn if it is in use
            silence_logs=logging.CRITICAL + 1,
        )
    except RuntimeError as error:
        raise MatchbanditError(
            f"dask could not start its workers here ({error}). Try again, or run the study without --dask."
        ) from error


def _client(distributed: Any, scheduler: Any, address: str) -> Any:
    check_address(address)  # else the client is half made, and closed 16 seconds later
    try:
        return distributed.Client(scheduler, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError, ImportError) as error:
        raise _no_scheduler(address, error) from None


def _no_scheduler(address: str, error: Exception) -> MatchbanditError:
    why = str(error).strip().partition("\n")[0].rstrip(".")
    return MatchbanditError(
        f"there is no dask scheduler at {address!r}"
        f"{f' ({why})' if isinstance(error, ValueError | TypeError) else ''}. "
        f"Give an address such as tcp://host:8786, or local."
    )


def _close(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=2)


@contextmanager
def _no_main() -> Iterator[None]:
    """Keep dask from running the user's script once more in every worker: they need nothing of it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _silence() -> Iterator[None]:
    """Silence dask's long log messages about lost workers and schedulers, which are reported here in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ("distributed", "tornado")]
    loggers = [logging.getLogger(name) for name in {"distributed", *names}]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
