"""What a benchmark returns: tables of plain values, findings, figures and the raw records."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

Record = dict[str, Any]
"""One measurement with its keys (data set, fold, method, ...), ready for JSON."""

Cell = Any
"""A string, a number, None, or what `measured` and `spread` return."""


@dataclass(frozen=True)
class Table:
    """A caption, column names and rows of cells; notes are printed below it."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Result:
    """All of a run that the Markdown page is made from.

    `findings` are sentences computed from the records, so that they cannot drift from them.
    """

    settings: Mapping[str, Any]
    tables: Sequence[Table]
    findings: Sequence[str] = ()
    figures: Sequence[str] = ()
    records: Sequence[Record] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain containers and numbers for JSON."""
        return plain(asdict(self))


def measured(values: Sequence[float], *, rank: int | None = None) -> dict[str, float | int | None]:
    """A mean with its standard deviation (0 for a single value), and a rank where there is one."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "std": spread, "rank": rank}


def spread(values: Sequence[float]) -> dict[str, float]:
    """A median with the smallest and largest value, for times and their ratios."""
    return {"median": float(np.median(values)), "low": min(values), "high": max(values)}


def compared(
    comparison: str,
    ours: str,
    peer: str,
    ours_value: float | None,
    peer_value: float | None,
    note: str = "",
    *,
    smaller_is_better: bool = False,
    **more: Any,
) -> Record:
    """Ours over the peer's, or the other way round where that is how often ours is better."""
    ratio = None
    if ours_value and peer_value:
        ratio = peer_value / ours_value if smaller_is_better else ours_value / peer_value
    return {
        "comparison": comparison,
        "ours": ours,
        "peer": peer,
        "ours_value": ours_value,
        "peer_value": peer_value,
        "ratio": ratio,
        "note": note,
        **more,
    }


def plain(value: Any) -> Any:
    """The value with NumPy scalars, tuples and mappings turned into what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
