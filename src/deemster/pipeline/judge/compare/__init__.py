"""Compares a program's output with the expected one while it comes, in constant memory (J4)."""

from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare.comparer import Comparer
from deemster.pipeline.judge.compare.difference import Difference
from deemster.pipeline.judge.compare.exact import ExactComparer
from deemster.pipeline.judge.compare.numbers import Tolerance
from deemster.pipeline.judge.compare.pieces import LinePiece, SpacedPiece, WordPiece
from deemster.pipeline.judge.compare.sequence import SequenceComparer, same
from deemster.pipeline.judge.compare.unordered import UnorderedComparer

__all__ = ["Comparer", "Difference", "open_comparer"]


def open_comparer(comparison: Comparison, answer: Path) -> Comparer:
    """One for each output: feed it, finish it, close it. `answer` is the expected output."""
    fold = not comparison.case_sensitive
    tolerant = comparison.absolute is not None or comparison.relative is not None
    if tolerant and comparison.mode is not Compare.TOKENS:
        raise Refused(
            f"A tolerance for numbers goes with the comparison of tokens, not of "
            f"{comparison.mode}: change the problem's comparison."
        )
    match comparison.mode:
        case Compare.TOKENS if not comparison.space_sensitive:
            test = Tolerance(comparison).first_miss if tolerant else same
            return SequenceComparer(answer, WordPiece(fold), test)
        case Compare.TOKENS if tolerant:
            return SequenceComparer(answer, SpacedPiece(fold), Tolerance(comparison).first_miss)
        case Compare.TOKENS | Compare.EXACT:
            return ExactComparer(answer, fold)
        case Compare.LINES:
            return SequenceComparer(answer, LinePiece(fold), same)
        case Compare.SORTED_LINES:
            return UnorderedComparer(answer, LinePiece(fold))
        case Compare.SORTED_TOKENS:
            return UnorderedComparer(answer, WordPiece(fold))
