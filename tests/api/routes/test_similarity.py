"""P6: teachers see similar submissions; students do not."""

import csv
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.programs.tokenizer import Tokenizer
from deemster.store import audit
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection, transaction
from tests.api.conftest import Api, change_problem
from tests.pipeline.similarity.sources import PLANTED, made_source
from tests.pipeline.similarity.submitted import compare_all, finish

ORIGINAL = (PLANTED / "original.py").read_text()
PROBLEM = "/v1/problems/prob_sum/similarity"


@dataclass(frozen=True, slots=True)
class Course:
    first: SubmissionId
    copy: SubmissionId
    other: SubmissionId
    short: SubmissionId
    last: SubmissionId


@pytest.fixture
async def course(pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer) -> Course:
    """Zoe submitted first, Eve copied and renamed, and Tom copied from Eve."""
    found = Course(
        first=await finish(pool, artifacts, "zoe", ORIGINAL),
        copy=await finish(pool, artifacts, "eve", Path("disguised.py")),
        other=await finish(pool, artifacts, "kim", made_source(1)),
        short=await finish(pool, artifacts, "max", "print(1)\n"),
        last=await finish(
            pool, artifacts, "tom", Path("disguised.py"), verdict=Verdict.WRONG_ANSWER
        ),
    )
    await compare_all(pool, artifacts, tokenizer)
    return found


async def test_p6_similar_submissions_of_a_submission(admin: Api, course: Course) -> None:
    answer = (await admin.get(f"/v1/submissions/{course.copy}/similar")).json()
    assert answer["status"] == "compared"
    by_user = {item["user"]: item for item in answer["items"]}
    assert set(by_user) == {"zoe", "tom"}
    assert by_user["zoe"]["came_first"] is True
    assert by_user["tom"]["came_first"] is False
    assert by_user["tom"]["percent"] == by_user["tom"]["other_percent"] == 100.0
    assert 70 < by_user["zoe"]["percent"] < 100
    copied, original = (PLANTED / "disguised.py").read_text(), ORIGINAL
    for region in by_user["zoe"]["regions"]:
        assert region["file"] == region["other_file"] == "main.py"
        assert 1 <= region["first_line"] <= region["last_line"] <= copied.count("\n")
        assert region["other_last_line"] <= original.count("\n")


async def test_p6_a_problem_has_pairs_clusters_and_progress(admin: Api, course: Course) -> None:
    answer = (await admin.get(PROBLEM)).json()
    users = [(pair["first"]["user"], pair["second"]["user"]) for pair in answer["items"]]
    assert users[0] == ("eve", "tom")
    assert sorted(users) == [("eve", "tom"), ("zoe", "eve"), ("zoe", "tom")]
    assert answer["clusters"] == [
        {
            "users": ["eve", "tom", "zoe"],
            "submissions": [course.first, course.copy, course.last],
        }
    ]
    assert answer["progress"] == {
        "submissions": 5,
        "compared": 4,
        "waiting": 0,
        "too_short": 1,
        "failed": 0,
    }
    strict = (await admin.get(PROBLEM, params={"at_least": 99})).json()
    assert [pair["first"]["user"] for pair in strict["items"]] == ["eve"]
    assert strict["clusters"][0]["users"] == ["eve", "tom"]


async def test_pairs_come_in_pages(admin: Api, course: Course) -> None:
    whole = (await admin.get(PROBLEM)).json()["items"]
    pages = [(await admin.get(PROBLEM, params={"limit": 1})).json()]
    while cursor := pages[-1]["next_cursor"]:
        params = {"limit": 1, "cursor": cursor}
        pages.append((await admin.get(PROBLEM, params=params)).json())
    assert [item for page in pages for item in page["items"]] == whole
    assert [len(page["clusters"]) for page in pages] == [1, 0, 0]
    for bad in ("x", "MTIz", "OTAwIGEgYiBj"):
        assert (await admin.get(PROBLEM, params={"cursor": bad})).status_code == 422


async def test_several_submissions_of_two_users_are_one_pair(
    admin: Api, course: Course, pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    for _ in range(2):
        await finish(pool, artifacts, "zoe", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    items = (await admin.get(PROBLEM)).json()["items"]
    users = [frozenset((pair["first"]["user"], pair["second"]["user"])) for pair in items]
    assert len(users) == len(set(users)) == 3


async def test_what_was_not_compared_says_why(
    admin: Api, course: Course, pool: Pool, artifacts: Artifacts
) -> None:
    new = await finish(pool, artifacts, "new", ORIGINAL)
    for submission, status in ((new, "waiting"), (course.short, "too_short")):
        answer = (await admin.get(f"/v1/submissions/{submission}/similar")).json()
        assert (answer["status"], answer["items"]) == (status, [])
    assert (await admin.get(PROBLEM)).json()["progress"]["waiting"] == 1


async def test_a_rejudged_submission_shows_what_was_found_before(
    admin: Api, course: Course, pool: Pool
) -> None:
    async with transaction(pool) as writing:
        again = await rejudge(writing, course.first)
    answer = (await admin.get(f"/v1/submissions/{again.id}/similar")).json()
    assert answer["id"] == course.first
    assert len(answer["items"]) == 2


async def test_p6_students_see_nothing_of_it(ada: Api, course: Course) -> None:
    """A11: not even of their own submissions."""
    for path in (f"/v1/submissions/{course.first}/similar", PROBLEM, f"{PROBLEM}/dolos"):
        assert (await ada.get(path)).status_code == 403


async def test_unknown_objects_are_not_found(admin: Api) -> None:
    for path in (
        "submissions/sub_x/similar",
        "problems/x/similarity",
        "problems/x/similarity/dolos",
    ):
        assert (await admin.get(f"/v1/{path}")).status_code == 404


async def test_p6_an_archive_for_dolos(
    admin: Api, course: Course, pool: Pool, artifacts: Artifacts
) -> None:
    """Of each user the newest accepted program, or else the newest."""
    newer = await finish(pool, artifacts, "zoe", ORIGINAL + "#\n", verdict=Verdict.WRONG_ANSWER)
    await finish(pool, artifacts, "ann", Path("original.cpp"), language="cpp")
    answer = await admin.get(f"{PROBLEM}/dolos")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        rows = list(csv.DictReader(io.StringIO(archive.read("info.csv").decode())))
        names = set(archive.namelist()) - {"info.csv"}
        assert {row["filename"] for row in rows} == names
        assert archive.read(f"{course.first}/main.py").decode() == ORIGINAL
    assert f"{newer}/main.py" not in names
    assert [row["label"] for row in sorted(rows, key=lambda row: row["label"])] == [
        *("eve", "kim", "max", "tom", "zoe")
    ]
    (zoe,) = (row for row in rows if row["label"] == "zoe")
    assert (zoe["full_name"], zoe["status"], zoe["language"]) == ("zoe", "Accepted", "python3")
    assert zoe["created_at"].startswith("20")
    other = await admin.get(f"{PROBLEM}/dolos", params={"language": "cpp17"})
    with zipfile.ZipFile(io.BytesIO(other.content)) as archive:
        assert [name.rpartition("/")[2] for name in archive.namelist()] == [
            *("main.cpp", "info.csv")
        ]
    async with connection(pool) as acquired:
        acts = [entry.act for entry in await audit.page(acquired, before=None, limit=10)]
    assert acts.count("similarity.export") == 2


async def test_the_archive_names_the_template(admin: Api, course: Course, pool: Pool) -> None:
    await change_problem(pool, details={"starters": {"attachments/start.py": "x = 1\n"}})
    answer = await admin.get(f"{PROBLEM}/dolos")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("info.csv").decode())))
        assert archive.read("template/start.py") == b"x = 1\n"
    assert [row["filename"] for row in rows if row["ignored"]] == ["template/start.py"]
