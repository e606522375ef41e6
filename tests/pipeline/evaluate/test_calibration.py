"""The figures by which a model is compared with teachers, and the files that name them."""

from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.pipeline.evaluate.calibration import kappa, weighted_kappa
from deemster.pipeline.evaluate.calibration_files import read_examples
from deemster.pipeline.evaluate.rubric_file import parse_rubric
from tests.pipeline.evaluate.conftest import CATALOGUE, RUBRIC


def test_kappa_of_a_textbook_example() -> None:
    """20 and 15 agreements among 50 pairs, with 5 and 10 disagreements."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10
    pairs += [(False, False)] * 15
    assert kappa(pairs) == pytest.approx(0.4)


def test_kappa_is_1_for_full_agreement_and_0_for_chance() -> None:
    assert kappa([(True, True), (False, False)]) == 1
    assert kappa([(True, True), (True, False), (False, True), (False, False)]) == 0
    assert kappa([(True, True)] * 5) is None, "both only ever gave one answer"
    assert kappa([]) is None


def test_weighted_kappa_forgives_near_grades() -> None:
    near = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)]
    far = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0)]
    assert weighted_kappa([(each, each) for each in range(5)], 5) == 1
    assert weighted_kappa(near, 5) == pytest.approx(1 - 5 / 85)
    assert weighted_kappa(far, 5) == pytest.approx(0.2)
    assert weighted_kappa([(2, 2)] * 3, 5) is None


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("examples: []", "examples"),
        ("examples: [{file: a.py, verdict: Accepted, answers: {split: yes}}]", "repeats"),
        ("examples: [{file: b.py, verdict: Accepted, answers: {}}]", "Can't read"),
        ("examples: [{file: a.py, verdict: Fine, answers: {}}]", "verdict"),
        ("example: []", "is 'examples' meant"),
    ],
)
def test_a_mistake_in_the_examples_is_refused(tmp_path: Path, yaml: str, message: str) -> None:
    (tmp_path / "examples.yaml").write_text(yaml)
    (tmp_path / "a.py").write_text("print(1)\n")
    with pytest.raises(Refused, match=message):
        read_examples(tmp_path, parse_rubric(RUBRIC), CATALOGUE)
