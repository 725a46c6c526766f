"""The one capacity rule, for lists and for writes (contract: candidates.md 2.1, service.md 2.6; decision A11).

MariaDB keeps `allocation_ratio` in single precision and hands it out as a decimal of six digits, SQLite keeps the
double. To mean the same everywhere, the ratio that counts is its six-digit decimal value, and a capacity is the
product in double precision, truncated towards zero where a whole number is shown.
"""


def effective_ratio(ratio: float) -> float:
    """The ratio that counts: six significant decimal digits (0.699999988 is 0.7)."""
    return float(f'{ratio:.6g}')


def capacity(total: int, reserved: int, ratio: float) -> float:
    """What may be allocated in all, in units of the resource class, not truncated."""
    return (total - reserved) * effective_ratio(ratio)
