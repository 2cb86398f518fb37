"""What a computation did, why, and at what price."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Report:
    """A method's own account of one computation.

    Attributes
    ----------
    method : str
        What was used.
    reason : str
        Why it was used.
    passes : int or None
        How often every entry of the matrix was read; None where it was not counted.
    error : float or None
        The method's estimate of its own error; its meaning is the method's.
    seconds : dict of str to float
        Wall time of each phase.
    notes : tuple of str
        What a careful user would want to know.

    Examples
    --------
    >>> from pinvlearn import Report
    >>> print(Report("gram", "tall matrix", passes=2))
    gram: tall matrix (2 passes)
    """

    method: str
    reason: str
    passes: int | None = None
    error: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def with_notes(self, *notes: str) -> Report:
        """The same report with more notes.

        Parameters
        ----------
        *notes : str
            Sentences to add at the end.

        Returns
        -------
        Report
            A new one.
        """
        return replace(self, notes=self.notes + notes)

    def __str__(self) -> str:
        details = []
        if self.passes is not None:
            details.append(f"{self.passes} pass{'es' if self.passes != 1 else ''}")
        if self.error is not None:
            details.append(f"error estimate {self.error:.2g}")
        if self.seconds:
            details.append(", ".join(f"{name} {s:.3g} s" for name, s in self.seconds.items()))
        head = f"{self.method}: {self.reason}" + (f" ({'; '.join(details)})" if details else "")
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])


class Stopwatch(dict[str, float]):
    """Seconds by phase: ``with watch("basis"): ...`` adds the time spent to ``watch["basis"]``."""

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self[phase] = self.get(phase, 0.0) + time.perf_counter() - start
