import subprocess
import sys

SCRIPT = """
import numpy as np
import matchbandit as mb
from matchbandit import numba_cache
from matchbandit.simulation import warm_up as module

def record(cache, *args):
    unprepared.append(cache._function.__name__)
    return load(cache, *args)

unprepared, load = [], numba_cache.FunctionCache.load_overload
numba_cache.FunctionCache.load_overload = record
names = ["cucb", "track-and-stop", "matching-id"]
module.CATALOGUE = {name: mb.CATALOGUE[name] for name in names}
reported = []
module.warm_up(lambda name, seconds: reported.append(name))
assert reported == names and unprepared

unprepared.clear()  # from here on nothing is loaded or compiled any more
players, slots = mb.Monopartite([0.8, 0.6, 0.5, 0.3]), mb.Bipartite([0.9, 0.5], [0.7, 0.4, 0.2])
live = mb.policy("cucb").build(players.graph, seed=1)
live.tell(live.ask(), [1.0, 0.0])
live.decide(np.random.default_rng(1))
mb.simulate(mb.Monopartite(players.u, rewards=mb.Binomial(3)), "cucb", horizon=50, runs=1, workers=1)
mb.identify(slots, mb.policy("track-and-stop", delta=0.3), max_rounds=50, runs=1, workers=1)
mb.identify(players, mb.policy("matching-id", delta=0.3), max_rounds=50, runs=1, workers=1)
print(unprepared)
"""


def test_nothing_is_left_to_compile():
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")
