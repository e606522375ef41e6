"""The summary of a problem has what contestants need and no hidden tests (A11)."""

import json
from pathlib import Path
from typing import Any

import pytest

from deemster.api.models.problems import problem_out
from deemster.domain.ids import problem_id_from_name
from deemster.problems.new_package import make_package
from deemster.problems.revision import RevisionStore
from deemster.problems.summary import (
    MAX_LANGUAGES,
    SAMPLE_BYTES,
    SAMPLES_BYTES,
    STARTERS_BYTES,
    summary_of,
)
from deemster.store.counters import ProblemCounts
from deemster.store.problems import ProblemSummary

ROOT = Path(__file__).parents[2]
HIDDEN = "7317317317"


async def summary_from(tmp_path: Path, package: Path, time_ms: int = 1000) -> ProblemSummary:
    store = RevisionStore(tmp_path / "revisions", 1 << 30)
    async with store.imported(package) as revision:
        return summary_of(
            revision, problem_id_from_name(revision.problem.slug), time_ms=time_ms
        )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return make_package(tmp_path, "mine")


async def test_a_summary_has_title_limits_statement_and_samples(tmp_path: Path) -> None:
    summary = await summary_from(tmp_path, ROOT / "samples" / "aplusb", time_ms=2000)
    details = summary.details
    assert (summary.id, summary.title, summary.time_ms) == ("prob_aplusb", "A plus B", 2000)
    assert summary.memory_bytes == 256 << 20
    assert summary.cases > 5
    assert summary.languages is None
    assert set(details["statements"]) >= {"en", "de"}
    assert "<h2>Input</h2>" in details["statements"]["en"]
    assert details["names"]["de"] == "A plus B"
    first = details["samples"][0]
    assert sum(map(int, first["input"].split())) == int(first["output"])
    assert not details["submit_answer"]
    assert not details["interactive"]


async def test_p6_a_summary_has_the_starter_files(tmp_path: Path, package: Path) -> None:
    files = {
        "attachments/start.py": b"print('start')\n",
        "attachments/picture.png": b"\x89PNG\xff\0",
        "attachments/zero.py": b"x\0",
        "attachments/large.py": b"#" * (STARTERS_BYTES + 1),
        "include/default/driver.py": b"import solution\n",
    }
    for name, content in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    summary = await summary_from(tmp_path, package)
    assert summary.details["starters"] == {
        "attachments/start.py": "print('start')\n",
        "include/default/driver.py": "import solution\n",
    }
    shown = problem_out(summary, ProblemCounts()).model_dump_json()
    assert "import solution" not in shown


async def test_a11_a_summary_has_no_hidden_tests(tmp_path: Path, package: Path) -> None:
    """A11: not their data, not their names, not the jury's programs."""
    secret = package / "data" / "secret"
    for file in [*secret.glob("*.in"), *secret.glob("*.ans")]:
        file.write_text(f"{HIDDEN}\n")
    (secret / f"{HIDDEN}.in").write_text("1 2\n")
    (secret / f"{HIDDEN}.ans").write_text("3\n")
    (secret / f"{HIDDEN}.yaml").write_text(f"description: x{HIDDEN}\nhint: x{HIDDEN}\n")
    for file in (package / "submissions").rglob("*.*"):
        file.write_text(f"# {HIDDEN}\n{file.read_text()}")
    summary = await summary_from(tmp_path, package)
    assert HIDDEN not in json.dumps(summary.details)
    assert summary.details["samples"]


async def test_a11_a_case_with_full_feedback_is_not_a_sample(
    tmp_path: Path, package: Path
) -> None:
    """A11: who failed such a case may see it, others don't."""
    (package / "data" / "secret" / "test_group.yaml").write_text("full_feedback: true\n")
    for file in (package / "data" / "secret").glob("*.in"):
        file.write_text(f"{HIDDEN} 1\n")
    summary = await summary_from(tmp_path, package)
    assert HIDDEN not in json.dumps(summary.details)


async def test_a_sample_interaction_is_shown(tmp_path: Path) -> None:
    summary = await summary_from(tmp_path, ROOT / "samples" / "treasure")
    assert summary.details["interactive"]
    assert all(set(sample) == {"interaction"} for sample in summary.details["samples"])
    assert summary.details["samples"]


async def test_a_summary_says_that_answers_are_submitted(tmp_path: Path) -> None:
    summary = await summary_from(tmp_path, ROOT / "corpus" / "submitanswer")
    assert summary.details["submit_answer"]


async def test_a_large_sample_is_cut(tmp_path: Path, package: Path) -> None:
    sample = next((package / "data" / "sample").glob("*.in"))
    sample.write_text("1 2\n" + "x" * SAMPLE_BYTES)
    summary = await summary_from(tmp_path, package)
    longest = max(len(each["input"]) for each in summary.details["samples"])
    assert longest < SAMPLE_BYTES + 10


async def test_d3_a_summary_of_a_huge_package_stays_small(
    tmp_path: Path, package: Path
) -> None:
    """D3: all who open the problem get its statements and samples."""
    for number in range(SAMPLES_BYTES // SAMPLE_BYTES + 2):
        name = package / "data" / "sample" / f"x{number}"
        name.with_suffix(".in").write_bytes(b"1 2\n" * (SAMPLE_BYTES // 4))
        name.with_suffix(".ans").write_bytes(b"3\n")
    for number in range(MAX_LANGUAGES + 2):
        code = f"{chr(97 + number // 26)}{chr(97 + number % 26)}"
        (package / "statement" / f"problem.{code}.md").write_text("Add them.\n")
    summary = await summary_from(tmp_path, package)
    assert len(summary.details["statements"]) == MAX_LANGUAGES
    assert len(json.dumps(summary.details["samples"])) < 2 * SAMPLES_BYTES


async def test_a_summary_can_be_stored_whatever_an_author_wrote(
    tmp_path: Path, package: Path
) -> None:
    """A6: Postgres refuses NUL and lone surrogates; the import would fail without a reason."""
    settings = package / "problem.yaml"
    lines = [
        each
        for each in settings.read_text().splitlines()
        if not each.startswith(("name:", "keywords:"))
    ]
    hostile = r'"a\0\r\nb\ud800' + "n" * 300 + '"'
    settings.write_text("\n".join([*lines, f"name: {hostile}", r'keywords: ["\0"]', ""]))
    next((package / "data" / "sample").glob("*.in")).write_bytes(b"1\0 2\n")
    summary = await summary_from(tmp_path, package)
    assert summary.title == f"a\ufffd b?{'n' * 194}…"
    assert summary.details["names"] == {"en": summary.title}
    assert summary.details["keywords"] == ["\ufffd"]
    json.dumps(summary.details, ensure_ascii=False).encode()
    assert "\\u0000" not in json.dumps(summary.details)


async def test_every_package_of_the_corpus_has_a_summary(tmp_path: Path) -> None:
    for path in sorted((ROOT / "corpus").iterdir()):
        if path.is_dir():
            summary = await summary_from(tmp_path, path)
            details: dict[str, Any] = json.loads(json.dumps(summary.details))
            assert details == summary.details
            assert summary.title
