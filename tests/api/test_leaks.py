"""A11: what is hidden leaves by no path, in no state, for nobody but those who may."""

import json
from typing import Any

import pytest

from deemster.domain.judgement import JuryText
from deemster.domain.verdict import Verdict
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, make_worker, program
from tests.api.judging import GOOD, HIDDEN, JUDGEMENTS, failing, judged_submission, judgement
from tests.builders import make_problem

PATHS = ["", "/source"]
ALSO = ["/v1/submissions", "/v1/problems", "/v1/problems/prob_sum", "/v1/languages", "/readyz"]


async def everything(api: Api, submission: str) -> str:
    paths = [f"/v1/submissions/{submission}{path}" for path in PATHS] + ALSO
    answers = [await api.get(path) for path in paths]
    answers.append(await api.delete(f"/v1/submissions/{submission}"))
    answers.append(await api.post(f"/v1/submissions/{submission}/rejudge"))
    return "\n".join(f"{answer.text} {dict(answer.headers)}" for answer in answers)


@pytest.mark.parametrize("verdict", Verdict)
async def test_no_verdict_tells_of_hidden_tests(
    ada: Api,
    pool: Pool,
    artifacts: Artifacts,
    verdict: Verdict,
    log_lines: list[dict[str, Any]],
) -> None:
    """A11: hidden names, inputs, answers, outputs and messages; in answers and in the log."""
    submission = await judged_submission(pool, artifacts, ada.user.id, JUDGEMENTS[verdict])
    told = await everything(ada, submission)
    assert HIDDEN not in told
    assert "jury" not in told.lower()
    assert HIDDEN not in str(log_lines)
    async with connection(pool) as acquired:
        kept = bytes(
            await acquired.fetchval(
                "SELECT content FROM artifact WHERE digest = (SELECT jury FROM judgement)"
            )
        )
    assert verdict is Verdict.COMPILE_ERROR or HIDDEN.encode() in kept, "it was there to leak"


async def test_a_sample_shows_its_texts_and_not_the_checkers(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    wrong = failing(Verdict.WRONG_ANSWER, sample=True)
    found = judgement(Verdict.WRONG_ANSWER, GOOD, wrong)
    submission = await judged_submission(pool, artifacts, ada.user.id, found)
    told = await everything(ada, submission)
    assert "visible expected" in told
    assert HIDDEN not in told


async def test_what_is_added_to_the_stored_judgement_is_not_shown(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A field is shown because someone decided so, not because it is there."""
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


async def test_nobody_elses_source_is_told(ada: Api, bob: Api, pool: Pool) -> None:
    await make_problem(pool)
    await make_worker(pool)
    words = "print('ada wrote this')"
    answer = await ada.post("/v1/submissions", program(source_code=words))
    submission = answer.json()["id"]
    told = await everything(bob, submission)
    for secret in ("wrote this", ada.user.id, submission):
        assert secret not in told
    assert words in (await ada.get(f"/v1/submissions/{submission}/source")).text


async def test_a_key_of_another_tells_nothing_of_them(ada: Api, bob: Api, pool: Pool) -> None:
    await make_problem(pool)
    first = await ada.post("/v1/submissions", program(), key="guessed")
    second = await bob.post("/v1/submissions", program(), key="guessed")
    assert first.json()["id"] not in second.text


def test_the_jurys_texts_do_not_show_by_accident() -> None:
    assert HIDDEN not in f"{JuryText(HIDDEN)!r}{JuryText(HIDDEN)}"
