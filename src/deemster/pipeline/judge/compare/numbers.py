"""Compares tokens as decimal numbers with an absolute or relative tolerance."""

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from math import inf

from deemster.domain.problem import Comparison

NUMBER_BYTES = b"0123456789+-.eE"

EXACT = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


class Tolerance:
    """Numbers are those of the 2025-09 package format; `inf`, `nan` and 0x10 are text.

    They are compared as doubles, as the default validators of the ICPC tools do. A pair that is
    too far apart only because of rounding (0.100000001 is 1e-9 from 0.1) is compared again as
    decimals, so that nothing within the tolerance is rejected.
    """

    def __init__(self, comparison: Comparison) -> None:
        absolute, relative = comparison.absolute, comparison.relative
        # No difference is as small as -1.
        self._absolute = -1.0 if absolute is None else absolute
        self._relative = -1.0 if relative is None else relative
        # `repr` gives the decimal number that the author of the problem wrote.
        self._exact_absolute = Decimal(repr(self._absolute))
        self._exact_relative = Decimal(repr(self._relative))
        self._integers_exact = comparison.integers_exact

    def find_mismatch(self, expected: Sequence[bytes], got: Sequence[bytes]) -> int | None:
        """The index of the first pair that is neither equal nor close."""
        if expected == got:
            return None
        if not self._integers_exact and is_plain(expected) and is_plain(got):
            try:
                return self._first_far(expected, got)
            except ValueError:  # some are not numbers, such as "1-2"
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
        """A much faster version for sequences that contain only numbers."""
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
    """None if it is not a number of the 2025-09 grammar; infinite if too big for a double."""
    if token.translate(None, NUMBER_BYTES):
        return None
    try:
        return float(token)  # with these characters only, float accepts exactly that grammar
    except ValueError:
        return None


def is_plain(tokens: Sequence[bytes]) -> bool:
    """Whether `float` reads them by our grammar: it also accepts "1_0" and "nan"."""
    return not b"".join(tokens).translate(None, NUMBER_BYTES)


def is_integer(token: bytes) -> bool:
    return token.removeprefix(b"-").removeprefix(b"+").isdigit()
