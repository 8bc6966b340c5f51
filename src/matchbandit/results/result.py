"""What runs of either kind can do: become rows, a frame, a picture, a file."""

import os
from typing import TYPE_CHECKING, Any

from matchbandit.results.about import RunInfo

if TYPE_CHECKING:
    from matchbandit.extras import Frame
    from matchbandit.results.rows import Rows


class Result:
    """What `Runs` and `Identification` share."""

    about: RunInfo

    def __len__(self) -> int:
        """How many runs there are."""
        raise NotImplementedError

    @property
    def run_numbers(self) -> list[int]:
        """The number of each run: from 0 on, or from `first_run` on, unless Ctrl-C left some out."""
        return self.about.numbers(len(self))

    def rows(self, study: str | None = None) -> "Rows":
        """Tidy rows: each says study, policy, options, the problem's parameters, run, seed, and one result."""
        from matchbandit.results.rows import Rows  # noqa: PLC0415  # it needs pyarrow, and tables know results
        from matchbandit.results.tables import rows_table  # noqa: PLC0415

        return Rows.of(rows_table(self, study=study))  # type: ignore[arg-type]  # there is no third kind of result

    def to_frame(self, kind: "Frame | None" = None) -> Any:
        """The rows as a data frame: of pandas or Polars, whichever is there, or of the kind that is named."""
        return self.rows().to_frame(kind)

    def plot(self, path: str | os.PathLike[str] | None = None, **settings: Any) -> Any:
        """Draw these results, and keep the picture if a path is given; see `matchbandit.plot`."""
        from matchbandit.results.plotting import plot  # noqa: PLC0415  # it knows results

        return plot(self, path=path, **settings)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write two Parquet files: tidy rows, as `rows` gives them, and beside them the details of each run.

        `NAME.parquet` gets `NAME.details.parquet`, `X/rows/NAME.parquet` gets `X/details/NAME.parquet`. Each appears
        whole or not at all, the rows last, in a folder that exists. `load_runs` or `load_identification` reads them.
        """
        from matchbandit.results.files import save  # noqa: PLC0415  # it knows results

        save(self, path)  # type: ignore[arg-type]  # as above
