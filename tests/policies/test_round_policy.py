"""Round policies side by side."""

import matchbandit as mb


def test_policies_whose_arrays_are_called_alike_live_in_one_process():
    for name in ("cucb", "cts-gaussian"):  # both have a NamedTuple `Arrays` with fields of the same types
        live = mb.policy(name).build(mb.bipartite(2, 3))
        live.tell(live.ask(), [1.0, 0.0])
        assert live.rounds == 1
