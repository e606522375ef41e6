"""What is told of a problem: all that a contestant needs, nothing of hidden tests (A11)."""

import json
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.ids import problem_id_from_name
from deemster.problems.new import make_package
from deemster.problems.revision import RevisionStore
from deemster.problems.summary import SAMPLE_BYTES, sheet_of
from deemster.store.problems import ProblemSummary

ROOT = Path(__file__).parents[2]
HIDDEN = "7317317317"


async def sheet_from(tmp_path: Path, package: Path, time_ms: int = 1000) -> ProblemSummary:
    store = RevisionStore(tmp_path / "revisions", 1 << 30)
    async with store.imported(package) as revision:
        return sheet_of(revision, problem_id_from_name(revision.problem.slug), time_ms=time_ms)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return make_package(tmp_path, "mine")


async def test_the_sheet_has_title_limits_statement_and_samples(tmp_path: Path) -> None:
    sheet = await sheet_from(tmp_path, ROOT / "samples" / "aplusb", time_ms=2000)
    details = sheet.details
    assert (sheet.id, sheet.title, sheet.time_ms) == ("prob_aplusb", "A plus B", 2000)
    assert sheet.memory_bytes == 256 << 20
    assert sheet.cases > 5
    assert sheet.languages is None
    assert set(details["statements"]) >= {"en", "de"}
    assert "<h2>Input</h2>" in details["statements"]["en"]
    assert details["names"]["de"] == "A plus B"
    first = details["samples"][0]
    assert sum(map(int, first["input"].split())) == int(first["output"])
    assert not details["submit_answer"]
    assert not details["interactive"]


async def test_a11_nothing_of_hidden_tests_is_on_it(tmp_path: Path, package: Path) -> None:
    """A11: not their data, not their names, not the jury's programs."""
    secret = package / "data" / "secret"
    for file in [*secret.glob("*.in"), *secret.glob("*.ans")]:
        file.write_text(f"{HIDDEN}\n")
    (secret / f"{HIDDEN}.in").write_text("1 2\n")
    (secret / f"{HIDDEN}.ans").write_text("3\n")
    (secret / f"{HIDDEN}.yaml").write_text(f"description: x{HIDDEN}\nhint: x{HIDDEN}\n")
    for file in (package / "submissions").rglob("*.*"):
        file.write_text(f"# {HIDDEN}\n{file.read_text()}")
    sheet = await sheet_from(tmp_path, package)
    assert HIDDEN not in json.dumps(sheet.details)
    assert sheet.details["samples"]


async def test_a11_full_feedback_makes_no_sample(tmp_path: Path, package: Path) -> None:
    """A11: who failed such a case may see it, others don't."""
    (package / "data" / "secret" / "test_group.yaml").write_text("full_feedback: true\n")
    for file in (package / "data" / "secret").glob("*.in"):
        file.write_text(f"{HIDDEN} 1\n")
    sheet = await sheet_from(tmp_path, package)
    assert HIDDEN not in json.dumps(sheet.details)


async def test_a_talk_is_shown_as_a_talk(tmp_path: Path) -> None:
    sheet = await sheet_from(tmp_path, ROOT / "samples" / "treasure")
    assert sheet.details["interactive"]
    assert all(set(sample) == {"interaction"} for sample in sheet.details["samples"])
    assert sheet.details["samples"]


async def test_answers_that_are_handed_in_are_told(tmp_path: Path) -> None:
    sheet = await sheet_from(tmp_path, ROOT / "corpus" / "submitanswer")
    assert sheet.details["submit_answer"]


async def test_a_large_sample_is_cut(tmp_path: Path, package: Path) -> None:
    sample = next((package / "data" / "sample").glob("*.in"))
    sample.write_text("1 2\n" + "x" * SAMPLE_BYTES)
    sheet = await sheet_from(tmp_path, package)
    longest = max(len(each["input"]) for each in sheet.details["samples"])
    assert longest < SAMPLE_BYTES + 10


async def test_every_package_of_the_corpus_has_a_sheet(tmp_path: Path) -> None:
    for path in sorted((ROOT / "corpus").iterdir()):
        if path.is_dir():
            sheet = await sheet_from(tmp_path, path)
            details: dict[str, Any] = json.loads(json.dumps(sheet.details))
            assert details == sheet.details
            assert sheet.title
