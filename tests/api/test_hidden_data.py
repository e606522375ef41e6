"""A11: no route reveals hidden data."""

import json
from typing import Any

import pytest

from deemster.domain.judgement import JuryText
from deemster.domain.verdict import Verdict
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, make_worker, program
from tests.api.judgements import GOOD, HIDDEN, JUDGEMENTS, failing, judged_submission, judgement
from tests.builders import make_problem

PATHS = ["", "/source", "/judgement"]
ALSO = ["/v1/submissions", "/v1/problems", "/v1/problems/prob_sum", "/v1/languages", "/readyz"]


async def everything(api: Api, submission: str) -> str:
    paths = [f"/v1/submissions/{submission}{path}" for path in PATHS] + ALSO
    answers = [await api.get(path) for path in paths]
    answers.append(await api.delete(f"/v1/submissions/{submission}"))
    answers.append(await api.post(f"/v1/submissions/{submission}/rejudge"))
    return "\n".join(f"{answer.text} {dict(answer.headers)}" for answer in answers)


@pytest.mark.parametrize("verdict", Verdict)
async def test_no_verdict_reveals_hidden_tests(
    ada: Api,
    pool: Pool,
    artifacts: Artifacts,
    verdict: Verdict,
    log_lines: list[dict[str, Any]],
) -> None:
    """A11: hidden names, inputs, outputs and messages, in responses and in the log."""
    submission = await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[verdict])
    result = await everything(ada, submission)
    assert HIDDEN not in result
    assert "jury" not in result.lower()
    assert HIDDEN not in str(log_lines)
    async with connection(pool) as acquired:
        kept = bytes(
            await acquired.fetchval(
                "SELECT content FROM artifact WHERE digest = (SELECT jury FROM judgement)"
            )
        )
    assert verdict is Verdict.COMPILE_ERROR or HIDDEN.encode() in kept, "it was there to leak"


@pytest.mark.parametrize("verdict", [Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR])
async def test_a_failed_sample_shows_its_texts_but_not_the_checkers(
    ada: Api, pool: Pool, artifacts: Artifacts, verdict: Verdict
) -> None:
    wrong = failing(verdict, sample=True)
    found = judgement(verdict, GOOD, wrong)
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    result = await everything(ada, submission)
    assert ("visible expected" in result) is (verdict is Verdict.WRONG_ANSWER)
    assert "visible got" in result
    assert "visible stderr" in result
    assert HIDDEN not in result


async def test_new_fields_of_a_stored_judgement_are_not_shown(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A field is shown only if a model names it."""
    found = JUDGEMENTS[Verdict.WRONG_ANSWER]
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    async with connection(pool) as acquired:
        await acquired.execute(
            """UPDATE judgement SET contestant = jsonb_set(
                 contestant || jsonb_build_object('jury', $1::text),
                 '{failed_case,input}', to_jsonb($1::text))""",
            HIDDEN,
        )
        row = await acquired.fetchval("SELECT contestant FROM judgement")
    assert HIDDEN in json.dumps(row["failed_case"])
    assert HIDDEN not in await everything(ada, submission)


async def test_the_source_of_another_user_is_not_shown(ada: Api, bob: Api, pool: Pool) -> None:
    await make_problem(pool)
    await make_worker(pool)
    words = "print('ada wrote this')"
    answer = await ada.post("/v1/submissions", program(source_code=words))
    submission = answer.json()["id"]
    result = await everything(bob, submission)
    for secret in ("wrote this", ada.user.id, submission):
        assert secret not in result
    assert words in (await ada.get(f"/v1/submissions/{submission}/source")).text


async def test_a_key_of_another_user_reveals_nothing(ada: Api, bob: Api, pool: Pool) -> None:
    await make_problem(pool)
    first = await ada.post("/v1/submissions", program(), key="guessed")
    second = await bob.post("/v1/submissions", program(), key="guessed")
    assert first.json()["id"] not in second.text


def test_texts_of_the_jury_are_not_printed_by_accident() -> None:
    assert HIDDEN not in f"{JuryText(HIDDEN)!r}{JuryText(HIDDEN)}"
