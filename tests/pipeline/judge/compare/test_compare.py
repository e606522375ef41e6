"""Tests for compare/: the comparers agree with a simple model, in constant memory."""

import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from itertools import cycle, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare import (
    Difference,
    comparer,
    open_comparer,
    open_short_comparer,
    sequence,
    split_stream,
    unordered,
)
from deemster.pipeline.judge.compare.difference import EXCERPT_BYTES

LINES = Comparison()
EXACT = Comparison(mode=Compare.EXACT)
TOKENS = Comparison(mode=Compare.TOKENS)
ANY_CASE = Comparison(mode=Compare.TOKENS, case_sensitive=False)
SORTED_LINES = Comparison(mode=Compare.SORTED_LINES)
SORTED_TOKENS = Comparison(mode=Compare.SORTED_TOKENS)


def tolerance(
    absolute: float | None = None, relative: float | None = None, **switches: bool
) -> Comparison:
    return Comparison(mode=Compare.TOKENS, absolute=absolute, relative=relative, **switches)


def compare(
    comparison: Comparison, answer: bytes, output: bytes | Iterable[bytes]
) -> Difference | None:
    """With and without the answer in memory, the result is the same."""
    chunks = [output] if isinstance(output, bytes) else list(output)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "answer"
        path.write_bytes(answer)
        with (
            open_comparer(comparison, path) as opened,
            open_short_comparer(comparison, lambda: path, answer) as with_content,
        ):
            for chunk in chunks:
                opened.feed(chunk)
                with_content.feed(chunk)
            difference = opened.finish()
            assert (with_content.finish() is None) is (difference is None)
            return difference


def found(comparison: Comparison, answer: bytes, output: bytes) -> Difference:
    difference = compare(comparison, answer, output)
    assert difference is not None
    return difference


# ---- examples of each rule ----


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (b"1 2\n", b"1 2\n"),
        (b"1 2\n", b"1 2"),
        (b"1 2", b"1 2\n"),
        (b"1 2\n", b"1 2\r\n"),
        (b"1 2\n3\n", b"1 2 \t\n3\v\f\n"),
        (b"1 2\n3\n", b"1 2\n3\n\n\r\n  \n"),
        (b"1 2\n3\n\n\n", b"1 2\n3"),
        (b"\n\n1\n", b"\r\n \n1\n"),
        (b"", b""),
        (b"", b"\n \r\n"),
        (b" \n", b""),
        (b"a\r\r\nb\n", b"a\nb\n"),
        (b"\xff\x00\n", b"\xff\x00"),
    ],
)
def test_lines_that_differ_only_at_their_ends_are_equal(answer: bytes, output: bytes) -> None:
    """J4: trailing white space, CRLF and blank lines at the end are ignored by default."""
    assert compare(LINES, answer, output) is None
    assert compare(LINES, output, answer) is None


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (b"1 2\n", b"1  2\n"),
        (b"1 2\n", b" 1 2\n"),
        (b"1 2\n", b"1\n2\n"),
        (b"1\n2\n", b"1\n\n2\n"),
        (b"1\n", b"\n1\n"),
        (b"a\n", b"A\n"),
        (b"a\tb\n", b"a b\n"),
        (b"1\n2\n", b"1\n"),
        (b"1\n", b"1\n2\n"),
        (b"a\rb\n", b"ab\n"),
        (b"", b"x"),
        (b"x", b""),
    ],
)
def test_lines_that_differ_elsewhere_are_different(answer: bytes, output: bytes) -> None:
    assert compare(LINES, answer, output) is not None
    assert compare(LINES, output, answer) is not None


@pytest.mark.parametrize(
    ("comparison", "answer", "output", "equal"),
    [
        (EXACT, b"1 2\n", b"1 2\n", True),
        (EXACT, b"1 2\n", b"1 2", False),
        (EXACT, b"1 2\n", b"1 2\r\n", False),
        (EXACT, b"", b"", True),
        (EXACT, b"a", b"A", False),
        (Comparison(mode=Compare.EXACT, case_sensitive=False), b"aZ\n", b"Az\n", True),
        (TOKENS, b"1 2\n3", b"\n1\t2\v3\f\r\n", True),
        (TOKENS, b"12", b"1 2", False),
        (TOKENS, b"1 2", b"12", False),
        (TOKENS, b"1 2", b"1 2 3", False),
        (TOKENS, b"1 2 3", b"1 2", False),
        (TOKENS, b"1 2", b"2 1", False),
        (TOKENS, b"", b" \n", True),
        (TOKENS, b"", b" \n0", False),
        (TOKENS, b"1", b"1.0", False),
        (TOKENS, b"1", b"+1", False),
        (TOKENS, b"1", b"1\x00", False),
        (TOKENS, b"a b", b"a\xa0b", False),  # no white space in the C locale
        (TOKENS, b"a b", "a\u2003b".encode(), False),
        (TOKENS, b"a b", b"a\x1cb", False),  # white space only for str.split
        (TOKENS, b"yes", b"YES", False),
        (ANY_CASE, b"yes", b"YES", True),
        (ANY_CASE, "Ä".encode(), "ä".encode(), False),  # ASCII letters only
        (ANY_CASE, b"@[`{", b"`{@[", False),
        (tolerance(space_sensitive=True), b"1 2\n", b"1 2\n", True),
        (tolerance(space_sensitive=True), b"1 2\n", b"1  2\n", False),
        (tolerance(space_sensitive=True), b"1 2\n", b"1 2", False),
        (tolerance(space_sensitive=True), b"1 2\n", b"1 2\r\n", False),
        (tolerance(space_sensitive=True, case_sensitive=False), b"a B\n", b"A b\n", True),
        (tolerance(0.1, space_sensitive=True), b"1.0 2\n", b"1.05 2\n", True),
        (tolerance(0.1, space_sensitive=True), b"1.0 2\n", b"1.05  2\n", False),
        (tolerance(0.1, space_sensitive=True), b"1.0 2\n", b"1.05 2", False),
        (tolerance(0.1, space_sensitive=True), b"1.0 2", b"1.05 2\n", False),
        (tolerance(0.1, space_sensitive=True), b"1.0 2\n", b" 1.05 2\n", False),
        (SORTED_LINES, b"a b\nc\n", b"c\n\na  b\r\n", True),
        (SORTED_LINES, b"a b\nc\n", b"b a\nc\n", False),
        (SORTED_LINES, b"a\na\nb\n", b"a\nb\nb\n", False),
        (SORTED_LINES, b"a\n", b"a\na\n", False),
        (SORTED_LINES, b"", b"\n", True),
        (SORTED_TOKENS, b"a b\nc", b"c a\nb", True),
        (SORTED_TOKENS, b"a a b", b"a b b", False),
        (SORTED_TOKENS, b"ab c", b"a bc", False),
    ],
)
def test_each_mode_and_switch(
    comparison: Comparison, answer: bytes, output: bytes, equal: bool
) -> None:
    """J4: token, exact, case- and space-sensitive switches."""
    assert (compare(comparison, answer, output) is None) == equal


@pytest.mark.parametrize(
    ("comparison", "answer", "output", "equal"),
    [
        (tolerance(1e-6), b"1", b"1.000001", True),
        (tolerance(1e-6), b"1", b"1.0000011", False),
        (tolerance(1e-9), b"0.1", b"0.100000001", True),  # by doubles 6e-19 too far
        (tolerance(1e-9), b"0.1", b"0.1000000010001", False),
        (tolerance(1e-9), b"1000000000", b"1000000000.000000001", True),
        (tolerance(0.0), b"1e5", b"100000", True),
        (tolerance(0.0), b"0.5", b".5", True),
        (tolerance(0.0), b"1", b"1.", True),
        (tolerance(0.0), b"5", b"+5", True),
        (tolerance(0.0), b"0", b"-0", True),
        (tolerance(0.0), b"5", b"0005.0E0", True),
        (tolerance(0.0), b"5", b"6", False),
        (tolerance(relative=1e-6), b"1e20", b"1.000001e20", True),
        (tolerance(relative=1e-6), b"1e20", b"1.000002e20", False),
        (tolerance(relative=0.1), b"100", b"110", True),  # 10 % of the answer
        (tolerance(relative=0.1), b"110", b"100", True),
        (tolerance(relative=0.1), b"100", b"110.1", False),
        (tolerance(relative=0.1), b"0", b"0.0000001", False),
        (tolerance(relative=0.1), b"0", b"0e9", True),
        (tolerance(relative=1e-6), b"-5", b"-5.000001", True),
        (tolerance(relative=1e-6), b"-5", b"5", False),
        (tolerance(1e-6, 0.1), b"100", b"109", True),
        (tolerance(1.0, 1e-9), b"100", b"101", True),
        (tolerance(1e-6, 1e-6), b"Case #1: 0.5", b"Case #1: 0.5000001", True),
        (tolerance(1e-6, 1e-6), b"Case #1: 0.5", b"Case #2: 0.5", False),
        (tolerance(1.0), b"abc", b"abd", False),
        (tolerance(1.0), b"1", b"one", False),
        (tolerance(1.0), b"one", b"1", False),
        # Accepted by Python's `float`, but not by the format.
        (tolerance(1e6), b"1000", b"1_000", False),
        (tolerance(1e6), b"16", b"0x10", False),
        (tolerance(1e6), b"1", "\N{ARABIC-INDIC DIGIT ONE}".encode(), False),
        (tolerance(1e6), b"1", b"nan", False),
        (tolerance(1e6), b"1", b"inf", False),
        (tolerance(1e6), b"1", b"1e", False),
        (tolerance(1e6), b"1", b".", False),
        (tolerance(1e6), b"1", b"-", False),
        (tolerance(1e6), b"1", b"1.2.3", False),
        (tolerance(1e6), b"1", b"1,2", False),
        (tolerance(1e6), b"1", b"1e5e5", False),
        (tolerance(1e6), b"1", b"1-1", False),
        (tolerance(1e6), b"1", b"2f", False),
        # Words that other readers take for numbers must have the same text.
        (tolerance(1e6), b"nan", b"nan", True),
        (tolerance(1e6), b"inf", b"inf", True),
        (tolerance(1e6), b"inf", b"infinity", False),
        (tolerance(1e6), b"inf", b"1e999", False),
        (tolerance(1e6), b"nan", b"NaN", False),
        (tolerance(1e6, case_sensitive=False), b"nan", b"NaN", True),
        # Too big for a double, so compared as decimals.
        (tolerance(1e-6, 1e-6), b"1e400", b"1e400", True),
        (tolerance(1e-6, 1e-6), b"1e400", b"10e399", True),
        (tolerance(1e-6, 1e-6), b"1e400", b"1.0000001e400", True),
        (tolerance(1e-6, 1e-6), b"1e400", b"1e401", False),
        (tolerance(1e-6, 1e-6), b"1e400", b"-1e400", False),
        (tolerance(1e-6, 1e-6), b"1e400", b"1", False),
        (tolerance(1e-6, 1e-6), b"1", b"1e400", False),
        (tolerance(1e-6, 1.0), b"1e308", b"-1e308", False),
        (tolerance(1e-6, 1.0), b"1e400", b"-1e400", False),
        (tolerance(1e-6, 1e-6), b"1e99999999999999999999", b"1e99999999999999999998", False),
        (tolerance(1e-6, 1e-6), b"1e999999999", b"1", False),
        (tolerance(1e-6), b"0", b"1e-99999999999999999999", True),
        # Only numbers with a point or an exponent have a tolerance.
        (tolerance(0.5, integers_exact=True), b"5", b"5.0", False),
        (tolerance(0.5, integers_exact=True), b"5", b"6", False),
        (tolerance(0.5, integers_exact=True), b"5.0", b"5", True),
        (tolerance(0.5, integers_exact=True), b"5e0 7", b"5.4 7", True),
        (tolerance(0.5, integers_exact=True), b"-5", b"-5", True),
    ],
)
def test_numbers(comparison: Comparison, answer: bytes, output: bytes, equal: bool) -> None:
    """J4: float comparison by an absolute or relative tolerance."""
    assert (compare(comparison, answer, output) is None) == equal


def test_numbers_with_a_million_digits_are_numbers() -> None:
    third = b"0." + b"3" * 1_000_000
    assert compare(tolerance(1e-6), third, b"0.3333333") is None
    assert compare(tolerance(1e-6), b"0.3333333", third) is None
    huge = b"7" * 1_000_000
    assert compare(tolerance(1e-6, 1e-6), huge, huge[:-1] + b"8") is None
    assert compare(tolerance(1e-6, 1e-6), huge, huge[1:] + b"x") is not None


def test_numbers_longer_than_a_piece_are_compared_as_text() -> None:
    zeros = b"1." + b"0" * split_stream.LONGEST_PIECE_BYTES
    assert compare(tolerance(1e-6), zeros, zeros) is None
    assert compare(tolerance(1e-6), b" " + zeros, zeros) is None
    assert compare(tolerance(1e-6), zeros, zeros + b"0") is not None


def test_only_tokens_can_have_a_tolerance() -> None:
    with pytest.raises(Refused, match="tolerance"):
        open_comparer(Comparison(mode=Compare.LINES, absolute=1e-6), Path("nowhere"))
    with pytest.raises(Refused, match="tolerance"):
        open_short_comparer(Comparison(mode=Compare.LINES, absolute=1e-6), Path, b"")


# ---- a model, with pieces and chunks of a few bytes ----

NUMBER = re.compile(rb"[+-]?(?:[0-9]*\.[0-9]+|[0-9]+\.|[0-9]+)(?:[eE][+-]?[0-9]+)?")


def close(comparison: Comparison, expected: bytes, got: bytes) -> bool:
    if not comparison.case_sensitive and expected.lower() == got.lower():
        return True
    if expected == got:
        return True
    if comparison.absolute is None and comparison.relative is None:
        return False
    if not NUMBER.fullmatch(expected) or not NUMBER.fullmatch(got):
        return False
    if comparison.integers_exact and re.fullmatch(rb"[+-]?[0-9]+", expected):
        return False
    # Exact arithmetic: doubles make no difference for the few digits drawn here.
    wanted, given_ = Fraction(expected.decode()), Fraction(got.decode())
    gap = abs(wanted - given_)
    limits = [Fraction(repr(comparison.absolute))] if comparison.absolute is not None else []
    if comparison.relative is not None:
        limits.append(Fraction(repr(comparison.relative)) * abs(wanted))
    return any(gap <= limit for limit in limits)


def model(comparison: Comparison, answer: bytes, output: bytes) -> bool:
    def split(data: bytes) -> list[bytes]:
        match comparison.mode:
            case Compare.EXACT:
                return [data]
            case Compare.TOKENS if comparison.space_sensitive:
                return re.findall(rb"\s+|\S+", data)
            case Compare.TOKENS | Compare.SORTED_TOKENS:
                return data.split()
            case Compare.LINES:
                lines = [line.rstrip() for line in data.split(b"\n")]
                while lines and not lines[-1]:
                    lines.pop()
                return lines
            case Compare.SORTED_LINES:
                lines = [b" ".join(line.split()) for line in data.split(b"\n")]
                return [line for line in lines if line]

    one, other = split(answer), split(output)
    if comparison.mode in {Compare.SORTED_LINES, Compare.SORTED_TOKENS}:
        fold = (lambda piece: piece) if comparison.case_sensitive else bytes.lower
        return Counter(map(fold, one)) == Counter(map(fold, other))
    return len(one) == len(other) and all(
        close(comparison, wanted, got) for wanted, got in zip(one, other, strict=True)
    )


WORDS = st.sampled_from(
    [
        *b"a A ab abcdefghij aBcDeFgHiJk \0 1e nan".split(),
        *b"1 -1 1.0 1.05 10e-1 1.1 +1.000000000000".split(),
        b"x" * 40,
    ]
)
GAPS = st.sampled_from(
    [b" ", b"\n", b"\r\n", b" \n", b"  ", b"\n\n", b"\t", b"\v\f", b" " * 30, b" " * 20 + b"\n"]
)
COMPARISONS = st.builds(
    Comparison,
    mode=st.sampled_from(Compare),
    case_sensitive=st.booleans(),
    space_sensitive=st.booleans(),
).flatmap(
    lambda chosen: (
        st.builds(
            Comparison,
            mode=st.just(chosen.mode),
            case_sensitive=st.just(chosen.case_sensitive),
            space_sensitive=st.just(chosen.space_sensitive),
            absolute=st.sampled_from([None, 0.0, 0.05, 0.1]),
            relative=st.sampled_from([None, 0.0, 0.05]),
            integers_exact=st.booleans(),
        )
        if chosen.mode is Compare.TOKENS
        else st.just(chosen)
    )
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two streams that are usually similar."""
    words = draw(st.lists(st.tuples(WORDS, GAPS), max_size=12))
    other = []
    for word, gap in words:
        kept = draw(st.integers(0, 9))
        other.append((draw(WORDS) if kept == 0 else word, draw(GAPS) if kept > 6 else gap))
    if draw(st.integers(0, 4)) == 0:
        other = other[: draw(st.integers(0, len(other)))]
    if draw(st.integers(0, 9)) == 0:
        other = draw(st.permutations(other))
    begin = draw(st.sampled_from([b"", b"", b" ", b"\n"]))
    end = draw(st.sampled_from([b"", b"", b"\n", b" \n\n"]))
    one = b"".join(map(b"".join, words))
    two = begin + b"".join(map(b"".join, other)) + end
    return (one, two) if draw(st.booleans()) else (two, one)


def chunked(data: bytes, cuts: list[int]) -> Iterable[bytes]:
    start = 0
    for size in cycle(cuts):
        if start >= len(data):
            return
        yield data[start : start + size]
        start += size


@contextmanager
def sizes(*, small: bool) -> Iterator[None]:
    """With `small`, pieces count as long from a few bytes on, to test their handling."""
    with ExitStack() as stack:
        longest = 8 if small else split_stream.LONGEST_PIECE_BYTES
        stack.enter_context(patch.object(split_stream, "LONGEST_PIECE_BYTES", longest))
        for module in (comparer, sequence, unordered):
            chunk = 5 if small else module.CHUNK_BYTES
            stack.enter_context(patch.object(module, "CHUNK_BYTES", chunk))
        yield


CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


EXAMPLES = pytest.mark.parametrize(
    "examples", [150, pytest.param(1500, marks=pytest.mark.soak)]
)


@EXAMPLES
def test_the_comparers_agree_with_the_model_however_the_output_is_chunked(
    examples: int,
) -> None:
    """J4, J2: this includes long pieces, of which only a digest is kept."""

    @given(comparison=COMPARISONS, pair=streams(), cuts=CUTS, small=st.booleans())
    @example(comparison=LINES, pair=(b"a" * 8, b"a" * 7 + b" "), cuts=[3], small=True)
    @example(
        comparison=LINES, pair=(b"a" * 8 + b"\n", b"a" * 8 + b" " * 9), cuts=[3], small=True
    )
    @example(comparison=TOKENS, pair=(b"a" * 9, b"a" * 8 + b" a"), cuts=[9], small=True)
    @example(
        comparison=tolerance(0.1),
        pair=(b"x" * 9 + b"1", b"x" * 9 + b"1.0"),
        cuts=[3],
        small=True,
    )
    @settings(max_examples=examples)
    def agree(
        comparison: Comparison, pair: tuple[bytes, bytes], cuts: list[int], small: bool
    ) -> None:
        answer, output = pair
        with sizes(small=small):
            difference = compare(comparison, answer, chunked(output, cuts))
        equal = model(comparison, answer, output)
        assert equal or difference is not None
        # Long numbers, and long lines in any order, are compared as text.
        long = small and any(len(word) > 8 for word in (answer + b"\n" + output).split(b"\n"))
        lenient = comparison.mode is Compare.SORTED_LINES or comparison.absolute is not None
        if not (long and (lenient or comparison.relative is not None)):
            assert not equal or difference is None

    agree()


@EXAMPLES
def test_a_difference_is_at_the_first_token_that_differs(examples: int) -> None:
    @given(pair=streams(), cuts=CUTS, small=st.booleans())
    @settings(max_examples=examples)
    def is_at_the_first(pair: tuple[bytes, bytes], cuts: list[int], small: bool) -> None:
        answer, output = pair
        with sizes(small=small):
            difference = compare(TOKENS, answer, chunked(output, cuts))
        words = [list(re.finditer(rb"\S+", data)) for data in pair]
        pairs = zip_longest(*words)
        other = next((two for two in pairs if not all(two) or two[0][0] != two[1][0]), None)
        if other is None:
            assert difference is None
            return
        assert difference is not None
        assert difference.answer is not None
        assert difference.output is not None
        for data, match, position in zip(
            pair, other, (difference.answer, difference.output), strict=True
        ):
            start = match.start() if match else len(data)
            assert position.offset == start
            assert position.line == data.count(b"\n", 0, start) + 1
        line = answer[: difference.answer.offset].rpartition(b"\n")[2]
        assert difference.token == len(line.split()) + 1

    is_at_the_first()


# ---- messages for the jury ----


def test_a_difference_has_a_position_and_excerpts() -> None:
    difference = found(TOKENS, b"1 2\n3 4 5\n", b"1\n2\n3 40 5\n")
    assert difference.answer is not None
    assert difference.output is not None
    assert (difference.answer.line, difference.token) == (2, 2)
    assert (difference.output.line, difference.output.offset) == (3, 6)
    assert (difference.expected, difference.got) == ("4", "40")
    assert str(difference) == (
        "The output differs from the answer.\n"
        "Line 2, token 2 of the answer; line 3, byte 6 of the output.\n"
        "Expected: 4\n"
        "Got: 40"
    )


def test_missing_and_extra_output_have_different_messages() -> None:
    for comparison in (TOKENS, LINES, EXACT):
        missing = found(comparison, b"1\n2\n", b"1\n")
        assert "ends too early" in missing.what
        assert (missing.expected.strip("\\n"), missing.got) == ("2", "")
        extra = found(comparison, b"1\n", b"1\n2\n")
        assert "continues after" in extra.what
        assert (extra.expected, extra.got.strip("\\n")) == ("", "2")
        assert extra.output is not None
        assert (extra.output.line, extra.output.offset) == (2, 2)


@pytest.mark.parametrize("comparison", [TOKENS, LINES, EXACT, tolerance(1e-9)])
def test_the_position_is_right_in_long_streams(comparison: Comparison) -> None:
    block = b"".join(b"%d %d\n" % (number, number * number) for number in range(20_000))
    crlf = block.replace(b"\n", b"\r\n") if comparison is not EXACT else block
    difference = found(comparison, block + b"right\n" + block, crlf + b"wrong\n" + block)
    assert difference.answer is not None
    assert difference.output is not None
    assert difference.answer.line == difference.output.line == 20_001
    assert difference.output.offset == len(crlf)
    assert difference.expected.startswith("right")
    assert difference.got.startswith("wrong")


def test_a_line_that_differs_is_reported_before_it_ends() -> None:
    long = b"1 " * 100_000
    with TemporaryDirectory() as directory:
        path = Path(directory) / "answer"
        path.write_bytes(b"\n" + long + b"2 " + long)
        with open_comparer(LINES, path) as opened:
            opened.feed(b"\n" + long)
            assert opened.difference is None
            opened.feed(b"3")
            difference = opened.difference
    assert difference is not None
    assert difference.output is not None
    assert (difference.output.line, difference.output.offset) == (2, 1 + len(long))


def test_excerpts_are_short_and_show_the_difference() -> None:
    common = b"x" * 100_000
    difference = found(TOKENS, b" " + common + b"left" * 100, common + b"right" * 100)
    for shown, word in ((difference.expected, "left"), (difference.got, "right")):
        assert len(shown.encode()) <= EXCERPT_BYTES + 10
        assert shown.startswith("…xxx")
        assert word in shown
    assert len(str(difference)) < 1000


def test_excerpts_contain_no_control_characters() -> None:
    difference = found(EXACT, b"\x1b[2J\x00\xff\xfeok", b"\x07\r\n" + b"\x08" * 20)
    text = difference.expected + difference.got
    assert text.isprintable()
    assert "\\x1b[2J\\x00\\xff\\xfeok" in text


def test_an_unordered_difference_names_the_pieces_that_differ() -> None:
    difference = found(SORTED_LINES, b"a\nb\nc\n", b"c\nb\nd\n")
    assert (difference.expected, difference.got) == ("a", "d")
    assert difference.output is None
    assert "1 tokens fewer" in found(SORTED_TOKENS, b"a b", b"b").what


def test_nothing_is_read_after_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_bytes(b"1\n" * 1_000_000)
    with open_comparer(TOKENS, path) as opened:
        opened.feed(b"2\n")
        first = opened.difference
        unread = opened.unread_bytes
        for _ in range(1000):
            opened.feed(b"1\n" * 30_000)
        assert opened.finish() is first is not None
    assert unread == 0


def test_an_unreadable_answer_makes_the_judge_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"gone\.ans"):
        open_comparer(LINES, tmp_path / "gone.ans")
    (tmp_path / "directory.ans").mkdir()
    with pytest.raises(Unavailable, match=r"directory\.ans"):
        open_comparer(LINES, tmp_path / "directory.ans")


def test_finish_raises_the_error_of_a_feed(tmp_path: Path) -> None:
    """The event loop calls `feed` and would lose its exceptions."""
    with open_comparer(LINES, Path("/proc/self/mem")) as opened:
        opened.feed(b"x")
        with pytest.raises(Unavailable, match="mem"):
            opened.finish()


def test_finish_of_a_short_comparer_raises_the_error_of_its_answer(tmp_path: Path) -> None:
    for output in (b"2", b"2" * 100_000):
        with open_short_comparer(LINES, lambda: tmp_path / "gone.ans", b"1") as opened:
            opened.feed(output)
            opened.feed(output)
            with pytest.raises(Unavailable, match=r"gone\.ans"):
                opened.finish()


# ---- memory ----

HUGE = """
import os, resource, sys, threading, time
from pathlib import Path
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare import open_comparer

MB = 1_000_000
fifo, mode, output, answer, floats = sys.argv[1:6]
blocks = {
    "numbers": b"123.456\\n" * (MB // 8),
    "crlf": b"123.456\\r\\n" * (MB // 8),
    "token": b"x" * MB,
    "TOKEN": b"X" * MB,
    "spaces": b" " * MB,
    "lines": b" \\n" * (MB // 2),
    "nothing": b"",
}
def write():
    with open(fifo, "wb", buffering=0) as pipe:
        for _ in range(20):
            pipe.write(blocks[answer])
threading.Thread(target=write, daemon=True).start()
comparison = Comparison(mode=Compare(mode), case_sensitive=False,
                        absolute=1e-9 if floats == "floats" else None)
with open_comparer(comparison, Path(fifo)) as comparer:
    comparer.feed(b"" if output == "nothing" else blocks[output][:1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = blocks[output]
    start = 1
    for _ in range(20):
        while start < len(block):
            comparer.feed(block[start:start + 65536])
            start += 65536
        start = 0
    difference = comparer.finish()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("equal" if difference is None else "different", after - before)
"""


@pytest.mark.parametrize(
    ("mode", "output", "answer", "floats"),
    [
        ("tokens", "numbers", "numbers", "floats"),
        ("tokens", "crlf", "numbers", "floats"),
        ("tokens", "TOKEN", "token", ""),
        ("tokens", "spaces", "lines", ""),
        ("tokens", "nothing", "spaces", ""),
        ("lines", "crlf", "numbers", ""),
        ("lines", "TOKEN", "token", ""),
        ("lines", "spaces", "lines", ""),
        ("exact", "token", "TOKEN", ""),
        ("sorted-tokens", "spaces", "lines", ""),
    ],
)
def test_20_mb_cost_a_few_mb_of_memory(
    tmp_path: Path, mode: str, output: str, answer: str, floats: str
) -> None:
    """J2: the memory is constant, whatever the sizes."""
    fifo = tmp_path / "answer"
    subprocess.run(["mkfifo", str(fifo)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HUGE), str(fifo), mode, output, answer, floats],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    verdict, grown_kb = done.stdout.split()
    assert verdict == "equal"
    assert int(grown_kb) < 10_000
