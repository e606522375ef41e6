"""Compares a program's output with the answer as it is written, in constant memory (J4)."""

from collections.abc import Callable
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare.comparer import Comparer
from deemster.pipeline.judge.compare.difference import Difference
from deemster.pipeline.judge.compare.exact import ExactComparer
from deemster.pipeline.judge.compare.numbers import Tolerance
from deemster.pipeline.judge.compare.sequence import SequenceComparer, find_mismatch
from deemster.pipeline.judge.compare.short import ShortComparer
from deemster.pipeline.judge.compare.split_stream import (
    LineSplitter,
    WordAndGapSplitter,
    WordSplitter,
)
from deemster.pipeline.judge.compare.unordered import UnorderedComparer

__all__ = ["Comparer", "Difference", "ShortComparer", "open_comparer", "open_short_comparer"]


def open_short_comparer(
    comparison: Comparison, find_answer: Callable[[], Path], content: bytes
) -> ShortComparer:
    """The same as `open_comparer`, for an answer whose short content the caller has."""
    check_tolerance(comparison)
    return ShortComparer(comparison, content, lambda: open_comparer(comparison, find_answer()))


def open_comparer(comparison: Comparison, answer: Path) -> Comparer:
    """Returns a comparer for one output; `answer` is the file with the expected output."""
    check_tolerance(comparison)
    fold = not comparison.case_sensitive
    match comparison.mode:
        case Compare.TOKENS if not comparison.space_sensitive:
            tolerant = is_tolerant(comparison)
            find = Tolerance(comparison).find_mismatch if tolerant else find_mismatch
            return SequenceComparer(answer, WordSplitter(fold), find)
        case Compare.TOKENS if is_tolerant(comparison):
            find = Tolerance(comparison).find_mismatch
            return SequenceComparer(answer, WordAndGapSplitter(fold), find)
        case Compare.TOKENS | Compare.EXACT:
            return ExactComparer(answer, fold)
        case Compare.LINES:
            return SequenceComparer(answer, LineSplitter(fold), find_mismatch)
        case Compare.SORTED_LINES:
            return UnorderedComparer(answer, LineSplitter(fold))
        case Compare.SORTED_TOKENS:
            return UnorderedComparer(answer, WordSplitter(fold))


def is_tolerant(comparison: Comparison) -> bool:
    return comparison.absolute is not None or comparison.relative is not None


def check_tolerance(comparison: Comparison) -> None:
    if is_tolerant(comparison) and comparison.mode is not Compare.TOKENS:
        raise Refused(
            f"Only the comparison of tokens can have a tolerance for numbers, not "
            f"{comparison.mode}: change the problem's comparison."
        )
