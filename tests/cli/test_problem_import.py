"""`deemster problem import`, `list` and `retire`."""

import shutil
from pathlib import Path

import pytest

from deemster.domain.ids import ProblemId
from deemster.problems.new_package import make_package
from deemster.settings import load_settings
from deemster.store import audit
from deemster.store.pool import Pool, connection
from deemster.store.problems import ProblemSummary, get
from deemster.wiring.problems import open_distributor
from deemster.wiring.resources import open_artifacts
from tests.cli.conftest import Deemster

CORPUS = Path(__file__).parents[2] / "corpus"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return make_package(tmp_path, "mine")


async def summary_of(pool: Pool, problem: str = "prob_mine") -> ProblemSummary:
    async with connection(pool) as acquired:
        found = await get(acquired, ProblemId(problem))
    assert found is not None
    return found


def remove_time_limit(package: Path) -> None:
    settings = package / "problem.yaml"
    lines = settings.read_text().splitlines()
    left = [line for line in lines if not line.strip().startswith("time_limit:")]
    assert len(left) < len(lines)
    settings.write_text("\n".join(left) + "\n")


async def test_an_imported_package_is_current_and_available_to_workers(
    operate: Deemster, pool: Pool, package: Path, tmp_path: Path
) -> None:
    done = operate("problem", "import", str(package))
    assert done.code == 0, done.err
    assert done.out.decode().startswith("prob_mine: revision 1, ")
    found = await summary_of(pool)
    assert (found.time_ms, found.number, found.retired) == (1000, 1, False)
    assert found.details["statements"]["en"]
    settings = load_settings()
    # A worker on another machine has no local copy.
    for each in (tmp_path / "data" / "revisions").iterdir():
        each.rename(tmp_path / f"away-{each.name}")
    async with open_distributor(settings, open_artifacts(settings)).opened(
        found.digest
    ) as fetched:
        assert fetched.problem.slug == "mine"


async def test_only_a_changed_package_makes_a_new_revision(
    operate: Deemster, pool: Pool, package: Path
) -> None:
    """J9."""
    operate("problem", "import", str(package))
    first = await summary_of(pool)
    assert b"prob_mine: unchanged, " in operate("problem", "import", str(package)).out
    assert (await summary_of(pool)).number == 1
    (package / "data" / "secret" / "more.in").write_text("1 2\n")
    (package / "data" / "secret" / "more.ans").write_text("3\n")
    assert b"prob_mine: revision 2, " in operate("problem", "import", str(package)).out
    second = await summary_of(pool)
    assert (second.number, second.cases) == (2, first.cases + 1)
    assert second.digest != first.digest


async def test_a_missing_time_limit_is_computed_from_the_accepted_submissions(
    operate: Deemster, pool: Pool, package: Path
) -> None:
    remove_time_limit(package)
    done = operate("problem", "import", str(package))
    assert done.code == 0, done.err
    found = await summary_of(pool)
    # The submissions take milliseconds, and limits are whole seconds.
    assert found.time_ms >= 1000
    assert found.time_ms % 1000 == 0


def test_a_package_without_time_limit_and_submissions_is_refused(
    operate: Deemster, package: Path
) -> None:
    remove_time_limit(package)
    shutil.rmtree(package / "submissions")
    done = operate("problem", "import", str(package))
    assert done.code == 2
    assert "has no time limit, and none of its accepted submissions" in done.err


async def test_a_problem_with_submitted_answers_needs_no_time_limit(
    operate: Deemster, pool: Pool
) -> None:
    done = operate("problem", "import", str(CORPUS / "submitanswer"))
    assert done.code == 0, done.err
    assert (await summary_of(pool, "prob_submitanswer")).details["submit_answer"]


async def test_the_id_can_be_chosen(operate: Deemster, pool: Pool, package: Path) -> None:
    assert operate("problem", "import", str(package), "--id", "prob_other-1").code == 0
    assert (await summary_of(pool, "prob_other-1")).number == 1
    assert (
        "'Other!' can't be the id of a problem"
        in operate("problem", "import", "x", "--id", "Other!").err
    )
    assert "--id is for one problem" in operate("problem", "import", "x", "y", "--id", "z").err


async def test_other_packages_are_imported_when_one_is_invalid(
    operate: Deemster, pool: Pool, package: Path, tmp_path: Path
) -> None:
    done = operate("problem", "import", str(tmp_path / "none"), str(package))
    assert done.code == 2
    assert "none" in done.err
    assert (await summary_of(pool)).number == 1
    [listed] = operate("problem", "list", "--json").json["problems"]
    assert (listed["id"], listed["time_ms"], listed["submits"]) == ("prob_mine", 1000, 0)
    assert b"prob_mine" in operate("problem", "list").out


async def test_a_retired_problem_is_not_listed_until_it_is_imported_again(
    operate: Deemster, pool: Pool, package: Path
) -> None:
    operate("problem", "import", str(package))
    assert operate("problem", "retire", "prob_mine").out == b"prob_mine: retired\n"
    assert (await summary_of(pool)).retired
    assert operate("problem", "list", "--json").json["problems"] == []
    assert operate("problem", "retire", "mine").out == b"prob_mine: was already retired\n"
    assert b"prob_mine: revision 1, " in operate("problem", "import", str(package)).out
    assert not (await summary_of(pool)).retired
    async with connection(pool) as acquired:
        entries = await audit.page(acquired, before=None, limit=10, target="prob_mine")
    assert [entry.act for entry in entries] == [
        "problem.import",
        "problem.retire",
        "problem.import",
    ]
    assert all(entry.actor.endswith(" by command") for entry in entries)


def test_an_unknown_problem_can_not_be_retired(operate: Deemster) -> None:
    done = operate("problem", "retire", "prob_none")
    assert done.code == 2
    assert "There is no problem prob_none" in done.err


async def test_a_draft_is_published_and_exported(
    operate: Deemster, pool: Pool, package: Path, here: Path
) -> None:
    done = operate("problem", "import", str(package), "--draft")
    assert b"not published" in done.out
    assert b"prob_mine" not in operate("problem", "list").out
    assert b"prob_mine" in operate("problem", "list", "--drafts").out
    assert operate("problem", "publish", "prob_mine").out == b"prob_mine: published\n"
    assert (await summary_of(pool)).published
    exported = operate("problem", "export", "prob_mine")
    assert exported.code == 0, exported.err
    assert "exists" in operate("problem", "export", "prob_mine").err
    again = operate("problem", "import", str(here / "prob_mine.tar"))
    assert b"unchanged" in again.out
