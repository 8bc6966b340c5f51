"""Studies on a real scheduler with worker processes, some of which are lost."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import distributed
import pytest
from reference.folders import held_policy, leftovers, tables_of, waiting_process

from matchbandit.errors import MatchbanditError
from matchbandit.studies import dask_cluster
from matchbandit.studies.runner import StoppedStudy, run_study
from matchbandit.studies.study import Study

SPIKED = {"family": "spiked", "n": 3, "u1": 0.9, "gap": [0.5, 0.6]}
SMALL = Study(name="small", problem=SPIKED, policies=["pair-elim"], horizon=1000, runs=4, seed=7)
LONGEST = 60


def same(a, b):
    return all(one.equals(other) for one, other in zip(tables_of(a), tables_of(b), strict=True))


class Site:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder):
        self.folder, self.workers, self.numbers = folder, [], itertools.count()
        # A scheduler that gives a task up as soon as one worker is lost over it: the study must send it out again.
        options = ("--port", "0", "--scheduler-file", str(folder / "scheduler.json"))
        self.scheduler = self._start("dask_scheduler", *options, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
        self.address = self._waited_for(lambda: json.loads((folder / "scheduler.json").read_text())["address"])

    def _start(self, what, *options, **environment):
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{what}", "--no-dashboard", "--host", "127.0.0.1", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, **environment},
        )  # fmt: skip

    def add_worker(self, **environment):
        """A worker that the scheduler knows."""
        name = f"worker-{next(self.numbers)}"
        options = ("--nthreads", "1", "--no-nanny", "--name", name, "--local-directory", str(self.folder))
        worker = self._start("dask_worker", *options, self.address, **environment)
        self.workers.append(worker)

        def names(dask_scheduler):  # sent by value: the scheduler does not have these tests
            return [worker.name for worker in dask_scheduler.workers.values()]

        with distributed.Client(self.address, set_as_default=False) as client:
            self._waited_for(lambda: client.run_on_scheduler(names).index(name))
        return worker

    def lose(self, worker):
        worker.kill()
        worker.wait()
        self.workers.remove(worker)

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    @staticmethod
    def _waited_for(look):
        end = time.monotonic() + LONGEST
        while True:
            try:
                return look()
            except (OSError, ValueError):
                assert time.monotonic() < end
                time.sleep(0.02)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A scheduler with one worker."""
    site = Site(tmp_path_factory.mktemp("dask"))
    try:
        site.add_worker()
        yield site
    finally:
        site.close()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    out = tmp_path_factory.mktemp("processes") / "small"
    run_study(SMALL, out, workers=1)
    return out


def test_rows_are_those_of_processes(site, processes, tmp_path):
    told = []
    run_study(SMALL, tmp_path / "out", dask=site.address, progress=lambda *now: told.append(now))
    assert same(tmp_path / "out", processes)
    assert told[-1] == (8, 8)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.slow
def test_a_part_of_a_killed_worker_is_played_by_another(site, tmp_path, monkeypatch):
    """With a policy of one's own, which the workers do not have; the one that holds a part is killed."""
    module = f"held_on_dask_{os.getpid()}"
    hold = held_policy(tmp_path, module)
    monkeypatch.chdir(tmp_path)
    study = SMALL.with_(policies=["pair-elim", f"{module}:Held"])
    second = site.add_worker()
    pids = {worker.pid for worker in site.workers}

    def kill():
        waiting = waiting_process(tmp_path)
        assert waiting in pids
        os.kill(waiting, signal.SIGKILL)
        hold.unlink()

    killer = threading.Thread(target=kill)
    killer.start()
    kept = run_study(study, tmp_path / "out", dask=site.address, part_runs=1)
    killer.join()
    assert (second.poll(), site.workers[0].poll()).count(None) == 1
    assert len(kept.parts) == 16
    assert same(tmp_path / "out", run_study(study, tmp_path / "fresh", workers=1).path)
    assert leftovers(tmp_path) == []
    site.lose(site.workers[0] if second.poll() is None else second)


def test_a_part_that_kills_its_workers_is_sent_out_again_but_not_for_ever(monkeypatch):
    class Lost:
        def result(self, timeout):
            raise distributed.KilledWorker("part", None, 0)

    cluster = dask_cluster.Cluster(None, "tcp://somewhere", allow_other_versions=False)
    part = dask_cluster.Part(SMALL.points[0], 0, 4)
    assert cluster._result(Lost(), part, dask_cluster.MAX_TRIES - 1) is None
    with pytest.raises(MatchbanditError, match=r"runs 0 to 3: workers were lost 20 times over it.*--part-runs"):
        cluster._result(Lost(), part, dask_cluster.MAX_TRIES)


@pytest.mark.slow
def test_ctrl_c_leaves_the_scheduler_free_for_others(site, processes, tmp_path):
    def stop(done, _total):
        if done >= 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(StoppedStudy, match=r"of 8 parts are kept"):
        run_study(SMALL, tmp_path / "out", dask=site.address, part_runs=1, progress=stop)
    run_study(SMALL, tmp_path / "out", dask=site.address, part_runs=1)
    assert same(tmp_path / "out", processes)


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused_unless_told(site, processes, tmp_path):
    shim = tmp_path / "shim" / "matchbandit-9.9.9.dist-info"
    shim.mkdir(parents=True)
    (shim / "METADATA").write_text("Metadata-Version: 2.1\nName: matchbandit\nVersion: 9.9.9\n")
    path = os.pathsep.join([str(shim.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    other = site.add_worker(PYTHONPATH=path)
    with pytest.raises(MatchbanditError) as error:
        run_study(SMALL, tmp_path / "out", dask=site.address)
    assert "has matchbandit 9.9.9 in place of" in str(error.value)
    assert "--allow-other-versions" in str(error.value)
    run_study(SMALL, tmp_path / "out", dask=site.address, allow_other_versions=True)
    assert same(tmp_path / "out", processes)
    site.lose(other)


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_one_line_and_nothing_more(site, tmp_path, monkeypatch):
    """The last test of this scheduler."""
    module = f"held_and_lost_{os.getpid()}"
    hold = held_policy(tmp_path, module)
    monkeypatch.chdir(tmp_path)
    study = SMALL.with_(policies=["pair-elim", f"{module}:Held"])

    def kill():
        waiting_process(tmp_path)
        site.scheduler.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(MatchbanditError, match=rf"the scheduler at {site.address} was lost. \d+ of 16 parts are kept"):
        run_study(study, tmp_path / "out", dask=site.address, part_runs=1)
    killer.join()
    hold.unlink()
    kept = run_study(study, tmp_path / "out", workers=1)
    assert kept.is_complete


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "nonsense", "tcp://no.such.host.invalid:1", "ftp://a:1"])
@pytest.mark.sampled(1)
def test_an_unreachable_scheduler_is_one_line(tmp_path, monkeypatch, address):
    monkeypatch.setattr(dask_cluster, "CONNECT_TIMEOUT_S", 0.5)
    with socket.socket() as free:  # bound, so that nobody else listens there either
        free.bind(("127.0.0.1", 0))
        address = address.format(port=free.getsockname()[1])
        with pytest.raises(MatchbanditError) as error:
            run_study(SMALL, tmp_path / "out", dask=address)
    assert str(error.value).startswith(f"there is no dask scheduler at {address!r}")
    assert str(error.value).endswith("or local.")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    with pytest.raises(MatchbanditError):
        run_study(SMALL, tmp_path / "out", dask=address)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_local_cluster_that_cannot_start_is_one_line(tmp_path, monkeypatch):
    def fail(**_):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with pytest.raises(MatchbanditError, match=r"dask could not start its workers here \(Nanny failed to start"):
        run_study(SMALL, tmp_path / "out", dask="local")


def test_without_dask_the_way_to_install_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MatchbanditError, match=r"needs distributed, .*: pip install 'matchbandit\[dask\]'"):
        run_study(SMALL, tmp_path / "out", dask="local")


@pytest.mark.parametrize("address", ["nonsense", "ftp://a:1", "tcp://a:1/status"])
def test_what_is_no_address_makes_no_client(tmp_path, monkeypatch, address):
    """One that is half made would be closed when Python ends, after 16 seconds and with a traceback."""
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: pytest.fail("a client was made"))
    with pytest.raises(MatchbanditError, match="there is no dask scheduler at"):
        run_study(SMALL, tmp_path / "out", dask=address)


def test_what_is_no_address_is_refused_also_where_nothing_is_left_to_play(processes):
    with pytest.raises(MatchbanditError, match="there is no dask scheduler at 'locl'"):
        run_study(SMALL, processes, dask="locl")
    assert run_study(SMALL, processes, dask="local").is_complete


def test_what_is_written_in_a_script_cannot_be_sent(tmp_path):
    for name in ("__main__", "__main__:Mine"):  # as a script, and as a notebook
        with pytest.raises(MatchbanditError, match=r"written in a script or notebook cannot be sent"):
            dask_cluster._files_of([name])


@pytest.mark.slow
def test_a_local_cluster_plays_the_same_also_in_a_script(processes, tmp_path):
    """Without `if __name__ == "__main__"`, and with a worker killed as soon as a part is kept."""
    script = f"""
import os, signal, threading, time, multiprocessing
from pathlib import Path
import matchbandit as mb
study = mb.Study.from_dict({SMALL.describe()!r})
out = Path({str(tmp_path / "out")!r})

def kill():
    while not list(out.glob("rows/*.parquet")):
        time.sleep(0.01)
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

killer = threading.Thread(target=kill)
killer.start()
study.run(out, dask="local", workers=2, part_runs=1)
killer.join()
"""
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert same(tmp_path / "out", processes)


@pytest.mark.slow
def test_workers_are_killed_one_after_the_other(tmp_path):
    """Three workers; every two seconds one is killed and another begins."""
    site = Site(tmp_path)
    study = SMALL.with_(policies=["pair-elim", "uts"], horizon=20_000, runs=60)
    try:
        for _ in range(3):
            site.add_worker()
        finished = threading.Event()

        def disturb():
            for _ in range(6):
                if finished.wait(2):
                    return
                site.lose(site.workers[0])
                site.add_worker()

        disturber = threading.Thread(target=disturb)
        disturber.start()
        run_study(study, tmp_path / "out", dask=site.address, part_runs=2)
        finished.set()
        disturber.join()
    finally:
        site.close()
    assert same(tmp_path / "out", run_study(study, tmp_path / "fresh", workers=2).path)
