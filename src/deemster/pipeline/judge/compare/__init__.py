"""Compares a program's output with the answer as it is written, in constant memory (J4)."""

from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare.comparer import Comparer
from deemster.pipeline.judge.compare.difference import Difference
from deemster.pipeline.judge.compare.exact import ExactComparer
from deemster.pipeline.judge.compare.numbers import Tolerance
from deemster.pipeline.judge.compare.sequence import SequenceComparer, find_mismatch
from deemster.pipeline.judge.compare.split_stream import (
    LineSplitter,
    WordAndGapSplitter,
    WordSplitter,
)
from deemster.pipeline.judge.compare.unordered import UnorderedComparer

__all__ = ["Comparer", "Difference", "open_comparer"]


def open_comparer(comparison: Comparison, answer: Path) -> Comparer:
    """Returns a comparer for one output; `answer` is the file with the expected output."""
    fold = not comparison.case_sensitive
    tolerant = comparison.absolute is not None or comparison.relative is not None
    if tolerant and comparison.mode is not Compare.TOKENS:
        raise Refused(
            f"Only the comparison of tokens can have a tolerance for numbers, not "
            f"{comparison.mode}: change the problem's comparison."
        )
    match comparison.mode:
        case Compare.TOKENS if not comparison.space_sensitive:
            find = Tolerance(comparison).find_mismatch if tolerant else find_mismatch
            return SequenceComparer(answer, WordSplitter(fold), find)
        case Compare.TOKENS if tolerant:
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
