"""Shadow policies: a second policy proposes in parallel, none of its pairs are played, and the recorded proposals are
compared."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from matchbandit.formatting import plural
from matchbandit.live.events import Event
from matchbandit.live.records import Documented


@dataclass(frozen=True)
class ShadowReport(Documented):
    """How often the live policy and its shadow agree, and what the model expects of each."""

    shadow: str | None
    """The latest shadow policy; None: there was none."""
    live: str | None
    """The live policy at that time."""
    proposals: int
    """Proposals with this shadow and this live policy."""
    equal: int
    """Proposals in which both chose the same pairs."""
    pairs: int
    """Proposed pairs."""
    common: int
    """Proposed pairs that the shadow chose as well."""
    failed: int
    """Proposals for which the shadow could not decide."""
    live_expects: float | None
    """Mean reward the model expected of a live proposal."""
    shadow_expects: float | None
    """Mean reward the model expected of a shadow proposal."""
    difference: float | None
    """Shadow minus live, on average."""
    standard_error: float | None
    """Of the difference; None with fewer than two proposals."""

    sentence: str = ""
    """The conclusion."""

    def __post_init__(self) -> None:
        """Write the sentence."""
        object.__setattr__(self, "sentence", self._sentence())

    def _sentence(self) -> str:
        if self.shadow is None:
            return "There was no shadow yet. Set one (shadow=, or `league set --shadow`), and ask."
        if not self.proposals:
            return f"The shadow {self.shadow} could not decide, in {plural(self.failed, 'proposal')}."
        assert self.difference is not None
        assert self.live_expects is not None
        assert self.shadow_expects is not None
        error = "" if self.standard_error is None else f" ± {self.standard_error:.2g}"
        agree = f"{self.common} of {plural(self.pairs, 'pair')} ({self.common / max(self.pairs, 1):.0%})"
        failed = f" It could not decide {plural(self.failed, 'time')}." if self.failed else ""
        return (
            f"In {plural(self.proposals, 'proposal')} {self.shadow} agreed with {self.live} on {agree}, and "
            f"{plural(self.equal, 'time')} wholly. The model expects {self.live_expects:.3g} of a proposal of "
            f"{self.live}, and {self.shadow_expects:.3g} of one of {self.shadow}: a difference of "
            f"{self.difference:+.2g}{error}. Expected is not achieved: what explores more now expects less.{failed}"
        )


def shadow_report(events: Iterable[Event]) -> ShadowReport:
    """Compare the latest live and shadow policies, from the events of a league."""
    recorded = [event.data for event in events if event.kind == "proposed" and event.data.get("shadow")]
    if not recorded:
        return ShadowReport(None, None, 0, 0, 0, 0, 0, None, None, None, None)
    live, shadow = recorded[-1]["policy"], recorded[-1]["shadow"]["policy"]
    proposals = [data for data in recorded if (data["policy"], data["shadow"]["policy"]) == (live, shadow)]
    decided = [data for data in proposals if "pairs" in data["shadow"]]
    n = len(decided)
    differences = [data["shadow"]["expected"] - data["expected"] for data in decided]
    mean = sum(differences) / n if n else None
    error = None
    if mean is not None and n > 1:
        error = sqrt(sum((difference - mean) ** 2 for difference in differences) / (n - 1) / n)
    return ShadowReport(
        shadow=shadow,
        live=live,
        proposals=n,
        equal=sum(data["shadow"]["common"] == len(data["pairs"]) == len(data["shadow"]["pairs"]) for data in decided),
        pairs=sum(len(data["pairs"]) for data in decided),
        common=sum(data["shadow"]["common"] for data in decided),
        failed=len(proposals) - n,
        live_expects=sum(data["expected"] for data in decided) / n if n else None,
        shadow_expects=sum(data["shadow"]["expected"] for data in decided) / n if n else None,
        difference=mean,
        standard_error=error,
    )
