"""Problems and languages as contestants see them."""

import pytest

from deemster.domain.ids import ProblemId
from deemster.domain.verdict import Verdict
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, change_problem, make_worker
from tests.api.judgements import HIDDEN, JUDGEMENTS, judged_submission
from tests.builders import make_problem

DETAILS = {
    "names": {"en": "Sum", "de": "Summe"},
    "statements": {"en": "<p>Add.</p>", "de": "<p>Addiere.</p>"},
    "samples": [{"input": "1 2\n", "output": "3\n"}, {"interaction": "<1\n>2\n"}],
    "limits": {"output_bytes": 4096},
    "scoring": True,
    "interactive": False,
    "submit_answer": False,
    "license": "CC0",
    "added later": HIDDEN,
}


async def test_a_problem_shows_statement_samples_and_limits(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    summary = await change_problem(pool, details=DETAILS, languages=["python3", "cpp"], cases=7)
    for verdict in (Verdict.ACCEPTED, Verdict.WRONG_ANSWER):
        await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[verdict], summary)
    answer = await ada.get("/v1/problems/prob_sum")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "id": "prob_sum",
        "title": "Sum",
        "titles": {"en": "Sum", "de": "Summe"},
        "revision": 2,
        "limits": {
            "time_ms": 1000,
            "memory_bytes": 256 << 20,
            "source_bytes": 64 << 10,
            "output_bytes": 4096,
        },
        "cases": 7,
        "languages": ["python3", "cpp"],
        "scoring": True,
        "interactive": False,
        "submit_answer": False,
        "statements": DETAILS["statements"],
        "samples": [
            {"input": "1 2\n", "output": "3\n", "interaction": None},
            {"input": None, "output": None, "interaction": "<1\n>2\n"},
        ],
        "files": [],
        "license": "CC0",
        "published": True,
        "submits": 2,
        "accepted": 1,
        "tags": [],
        "difficulty": None,
        "difficulty_given": False,
    }
    listed = (await ada.get("/v1/problems")).json()["items"]
    assert [(each["id"], each["submits"], each["accepted"]) for each in listed] == [
        ("prob_sum", 2, 1)
    ]


async def test_a_problem_without_details_is_shown_too(ada: Api, pool: Pool) -> None:
    await make_problem(pool)
    shown = (await ada.get("/v1/problems/prob_sum")).json()
    assert (shown["statements"], shown["samples"], shown["languages"]) == ({}, [], None)
    assert (shown["submits"], shown["accepted"]) == (0, 0)


@pytest.mark.parametrize("name", ["prob_none", "%00", "x" * 200])
async def test_an_unknown_problem_is_not_found(ada: Api, name: str) -> None:
    answer = await ada.get(f"/v1/problems/{name}")
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:deemster:error:not_found"


async def test_a_retired_problem_is_gone(ada: Api, pool: Pool) -> None:
    await change_problem(pool, id=ProblemId("prob_old"))
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE problem SET retired_at = now() WHERE id = 'prob_old'")
    assert (await ada.get("/v1/problems/prob_old")).status_code == 404
    listed = (await ada.get("/v1/problems")).json()["items"]
    assert [each["id"] for each in listed] == ["prob_sum"]


async def test_a_language_is_available_if_a_worker_has_it(ada: Api, pool: Pool) -> None:
    """J6: with command lines and the exact versions of the workers."""
    await make_worker(pool, "python3")
    await make_worker(pool, "cpp", version="GCC 13.1.0")
    await make_worker(pool, "cpp", version="GCC 12.2.0")
    await make_worker(pool, "cpp", version="GCC 12.2.0")
    drained = await make_worker(pool, "cpp", "rust", version="GCC 11.4.0")
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE worker SET draining_at = now() WHERE id = $1", drained)
        await acquired.execute(
            """INSERT INTO worker (id, host, process, slots, languages)
               VALUES ('wrk_of_an_earlier_release', 'h', 'p', 1, '{cpp,c}')"""
        )
    answer = await ada.get("/v1/languages")
    assert answer.status_code == 200
    shown = {each["id"]: each for each in answer.json()["items"]}
    assert {name: each["versions"] for name, each in shown.items() if each["available"]} == {
        "c": [],
        "cpp": ["GCC 12.2.0", "GCC 13.1.0"],
        "python3": ["1.0"],
    }
    assert shown["rust"]["versions"] == []
    assert "c++" in shown["cpp"]["aliases"]
    assert shown["cpp"]["compile"]
    assert shown["python3"]["run"]
    assert shown["python3"]["template"]
