"""Says whether two tokens are the same word or numbers close enough to each other.

The numbers are those of the 2025-09 package format: decimal, with or without a point and an
exponent. `inf`, `nan` and hexadecimal numbers are words, so they are equal only by their text.

Doubles decide, as in the default validators of the ICPC tools. What they find too far apart by
the error of their own rounding (0.100000001 is 1e-9 from 0.1) the decimals themselves decide,
so that nothing within the tolerance is refused.
"""

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from math import inf

from deemster.domain.problem import Comparison

NUMBER_BYTES = b"0123456789+-.eE"

EXACT = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


class Tolerance:
    """A difference up to the absolute one or up to the relative one is none."""

    def __init__(self, comparison: Comparison) -> None:
        absolute, relative = comparison.absolute, comparison.relative
        # No gap is as small as -1.
        self._absolute = -1.0 if absolute is None else absolute
        self._relative = -1.0 if relative is None else relative
        # The shortest text that gives this double: what the author of the problem wrote.
        self._exact_absolute = Decimal(repr(self._absolute))
        self._exact_relative = Decimal(repr(self._relative))
        self._integers_exact = comparison.integers_exact

    def first_miss(self, expected: Sequence[bytes], got: Sequence[bytes]) -> int | None:
        """The index of the first pair that is neither equal nor close."""
        if expected == got:
            return None
        if not self._integers_exact and is_plain(expected) and is_plain(got):
            try:
                return self._first_far(expected, got)
            except ValueError:  # such as "1-2": not all of them are numbers
                pass
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            if one != other and not self.close(one, other):
                return index
        return None

    def close(self, expected: bytes, got: bytes) -> bool:
        if self._integers_exact and is_integer(expected):
            return False
        one, other = parse_number(expected), parse_number(got)
        if one is None or other is None:
            return False
        return self._near(one, other) or self._exactly_near(expected, got)

    def _first_far(self, expected: Sequence[bytes], got: Sequence[bytes]) -> int | None:
        """The same for numbers only, many times as fast."""
        absolute, relative = self._absolute, self._relative
        pairs = zip(map(float, expected), map(float, got), strict=True)
        for index, (one, other) in enumerate(pairs):
            gap = abs(one - other)
            if gap <= absolute or gap <= relative * abs(one) < inf:
                continue
            if expected[index] == got[index] or self._exactly_near(expected[index], got[index]):
                continue
            return index
        return None

    def _near(self, expected: float, got: float) -> bool:
        gap = abs(expected - got)
        return gap <= self._absolute or gap <= self._relative * abs(expected) < inf

    def _exactly_near(self, expected: bytes, got: bytes) -> bool:
        one = EXACT.create_decimal(expected.decode())
        other = EXACT.create_decimal(got.decode())
        if not (one.is_finite() and other.is_finite()):
            return False
        gap = EXACT.abs(EXACT.subtract(one, other))
        share = EXACT.multiply(self._exact_relative, EXACT.abs(one))
        return gap <= self._exact_absolute or gap <= share


def parse_number(token: bytes) -> float | None:
    """A number of the 2025-09 grammar; infinite if it is too big for a double."""
    if token.translate(None, NUMBER_BYTES):
        return None
    try:
        return float(token)  # of these characters it takes just that grammar
    except ValueError:
        return None


def is_plain(tokens: Sequence[bytes]) -> bool:
    """Whether `float` takes them for what they are: it also reads "1_0" and "nan"."""
    return not b"".join(tokens).translate(None, NUMBER_BYTES)


def is_integer(token: bytes) -> bool:
    return token.removeprefix(b"-").removeprefix(b"+").isdigit()
