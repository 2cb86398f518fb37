"""Tables 1 to 4 of [MW15], as printed.

References
----------
[MW15] C. Men, W. Wang (2015). A randomized ELM speedup algorithm. Neurocomputing 159.
"""

from dataclasses import dataclass

FRACTIONS = (0.01, 0.05, 0.1)
"""k of the approximate kernel matrix as fractions of the training rows, Tables 2 and 3."""


@dataclass(frozen=True)
class Printed:
    """One method on one set: testing rate and deviation in percent, training seconds, ‖K - K̃‖_F."""

    rate: float
    deviation: float | None
    seconds: float
    norm: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of a table: base-2 logarithms of C and gamma, the exact method, the others by k.

    `approximate` has one entry for each of `FRACTIONS`, or one alone in Table 4.
    """

    log_c: int
    log_gamma: int | None
    exact: Printed
    approximate: tuple[Printed, ...]


SHAPES = {
    "dna": (1400, 1186, 3, 180),
    "letter": (2861, 1003, 5, 16),
    "optdigits": (3823, 1797, 10, 64),
    "segment": (2061, 249, 7, 19),
    "svmguide1": (3089, 4000, 2, 4),
    "waveform": (5000, 1000, 3, 21),
    "usps": (7291, 2007, 10, 256),
}
"""Table 1: rows for training and for testing, classes, features."""


def _table(body: str, *, gamma: bool, deviation: bool, width: int) -> dict[str, Row]:
    """Lines of: set, log C, log gamma, the exact method, then `width` numbers for each k."""
    table = {}
    for line in body.strip().splitlines():
        name, *cells = line.split()
        numbers = [float(cell) for cell in cells]
        log_c = int(numbers.pop(0))
        log_gamma = int(numbers.pop(0)) if gamma else None
        rate = numbers.pop(0)
        exact = Printed(rate, numbers.pop(0) if deviation else None, numbers.pop(0))
        parts = [numbers[i : i + width] for i in range(0, len(numbers), width)]
        table[name] = Row(log_c, log_gamma, exact, tuple(Printed(*part) for part in parts))
    return table


TABLE_2 = _table(
    """
    dna       -7 93.03 0.38   2.98 84.91 1.27  1.09 89.03 1.00  1.35 92.46 0.49  1.53
    optdigits -5 96.83 0.34  38.46 87.09 2.19  8.72 96.25 0.41 12.62 96.42 0.33 18.95
    letter    -2 98.19 0.22  17.13 68.24 4.49  4.98 97.22 0.45  6.50 97.47 0.36  8.90
    segment    3 92.78 1.10   8.50 62.62 4.40  2.56 89.06 1.86  3.02 91.57 1.05  4.36
    svmguide1 10 94.29 0.46  20.92 61.82 6.39  5.57 75.34 2.99  7.60 94.90 0.72 10.29
    waveform   4 92.16 0.47  69.57 64.18 3.25 14.61 87.92 1.00 21.46 90.30 0.55 37.85
    usps      -1 93.66 0.23 292.85 74.57 2.08 17.15 93.52 0.44 31.08 93.44 0.20 53.87
    """,
    gamma=False,
    deviation=True,
    width=3,
)
"""Table 2: 1000 sigmoid units, Eq. (21); C is that of the standard ELM."""

TABLE_2_LOG_C = {
    "dna": -9,
    "optdigits": -8,
    "letter": -5,
    "svmguide1": -1,
    "waveform": -5,
    "usps": -8,
}
"""Table 2: C of the approximate ELM. The text at hand has six values for seven sets; given to the
sets in order without segment they reproduce the printed rates, without another they do not."""

TABLE_3 = _table(
    """
    dna       -1 -6 92.83   1.76 88.54 0.71 0.29  33.36 91.50 0.68  0.51 21.81 93.08 0.34  0.92 12.01
    letter     0 -2 99.20  12.68 97.30 0.76 1.27  93.90 96.76 0.95  2.91 68.64 98.90 0.29  5.78 54.95
    optdigits -1 -6 98.33  26.18 98.07 0.31 2.21  66.14 98.11 0.57  6.34 63.34 98.21 0.06 11.97 60.50
    segment   -1 -5 97.19  26.86 96.67 0.21 1.52  57.90 96.95 0.27  4.24 53.90 96.93 0.27  7.13 49.70
    svmguide1 -1 -6 96.88  15.48 93.45 1.42 2.23 129.61 93.79 0.88  6.15 79.60 96.40 0.23 10.79 54.32
    waveform  -1 -9 87.30  59.33 87.27 0.06 4.07   0.77 87.30 0    11.33  0.08 87.30 0    28.03  0.01
    usps       0  1 95.07 112.24 92.20 0.19 6.42  41.44 94.82 0.10 24.05 40.46 95.03 0.03 52.24 39.27
    """,  # noqa: E501
    gamma=True,
    deviation=False,
    width=4,
)
"""Table 3: Gaussian kernel, Eq. (20)."""

TABLE_4 = _table(
    """
    dna       -8 92.24 0   1.56 92.24 0  1.06 1.12e-9
    optdigits -9 91.82 0  29.45 91.82 0  3.04 3.87e-7
    letter    -9 87.14 0  12.75 87.14 0  1.20 2.79e-8
    segment    1 81.12 0   5.23 81.12 0  0.73 1.01e-6
    svmguide1  8 76.90 0  15.44 76.90 0  1.23 8.08e-7
    waveform   9 85.80 0  61.02 85.80 0  3.41 1.15e-8
    usps      -9 87.39 0 273.27 87.39 0 16.97 6.38e-8
    """,
    gamma=False,
    deviation=True,
    width=4,
)
"""Table 4: linear kernel, k = number of features."""
