"""Load the compiled code of a typical league, or compile it, so that the first request does not wait for it."""

from matchbandit.leagues.store import Store


def warm_up() -> None:
    """Ask, tell and rank once with few and with many items, which use different code, in a store in memory."""
    from matchbandit.strengths import DENSE_BELOW

    with Store("sqlite://") as store:
        for size in (4, DENSE_BELOW):
            league = store.create(f"warm-up-{size}", players=[f"player {k}" for k in range(size)])
            proposal = league.ask()
            league.tell(proposal.number, [(*pair.ids, 1.0) for pair in proposal.pairs])
            league.ask()
            league.ranking()
