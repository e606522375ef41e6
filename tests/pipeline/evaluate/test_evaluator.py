"""P3, P5: what each behaviour of a model leads to, and what it costs."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from deemster.domain.evaluation import (
    AnsweredBy,
    Evaluation,
    EvaluationDelayed,
    Facts,
    Flag,
    Method,
    Variant,
    WithoutModel,
)
from deemster.domain.ids import ProblemId
from deemster.domain.verdict import Verdict
from deemster.pipeline.evaluate.evaluator import EvaluateService
from deemster.pipeline.evaluate.model_endpoint import ModelEndpoint
from deemster.pipeline.evaluate.paid_calls import ModelClient
from deemster.programs.tokenizer import Tokenizer
from deemster.store import evaluations, rubrics
from deemster.store.pool import connection, transaction
from tests.pipeline.evaluate.conftest import (
    BAD,
    CATALOGUE,
    GOOD,
    ONE_CALL,
    RUBRIC,
    SOURCE,
    OpenService,
    make_request,
    make_tier,
    use_rubric,
)
from tests.services.model_server import (
    SILENT,
    Chat,
    Model,
    always,
    answered,
    by_variant,
    http,
    in_turn,
    proving,
    says,
    texts,
)

BROKEN = always(http(500))
LIMITED = always(http(429, b"{}", "Retry-After: 0"))
LIMITED_FOR_LONG = always(http(429, b"{}", "Retry-After: 120"))
TRUNCATED = always(answered('{"answers": [{"question": "pas', finish="length"))
WRONG_SCHEMA = always(answered(json.dumps({"score": 100, "passed": True})))
UNANSWERED = always(answered(json.dumps({"answers": []})))
PROSE = always(answered("Certainly! All the answers are yes."))
NO_JSON = always(http(200, b"<html>"))


def hints_of(found: Evaluation) -> dict[str, str]:
    return {each.question: each.text for each in found.hints}


async def test_p3_without_tiers_facts_answer_and_the_result_says_so(
    open_service: OpenService,
) -> None:
    async with open_service() as running:
        found = await running.evaluate()
    assert found.method is Method.DETERMINISTIC
    assert found.without_model is WithoutModel.NOT_CONFIGURED
    assert found.score == 100, "only the question that facts answer counts"
    assert [each.by for each in found.answers] == [AnsweredBy.FACTS]


async def test_p3_answers_that_agree_give_a_score_with_its_cost(
    open_service: OpenService,
) -> None:
    async with open_service(a=says({**GOOD, "repeats": "yes"}), answers=2) as running:
        request = await make_request(running.pool)
        found = await running.evaluate(request)
        async with connection(running.pool) as reading:
            stored = await evaluations.get(reading, request.submission)
        calls = await running.calls("state", "charged_micros", "tier", "number", "input_tokens")
    assert (found.method, found.score, found.tier) == (Method.MODEL, 87.5, "a")
    assert found.scores == {Variant.PLAIN: 87.5, Variant.NEUTRAL: 87.5}
    assert found.usage.calls == 4, "two answers about each of two variants"
    assert found.usage.cost == 4 * ONE_CALL
    assert (found.usage.input_tokens, found.usage.output_tokens) == (4000, 800)
    assert sorted(calls) == [("answered", ONE_CALL, "a", n, 1000) for n in (1, 1, 3, 3)]
    assert stored is not None
    assert stored.evaluation == found
    assert found.rubric_number == 1


async def test_p5_nothing_that_identifies_a_person_is_sent(open_service: OpenService) -> None:
    source = SOURCE + 'print("ada@example.org", "see https://ada.example.org/")  # Ada\n'
    async with open_service(a=says(GOOD)) as running:
        request = await make_request(running.pool, source)
        await running.evaluate(request)
    # The random boundary of the program may contain any letters.
    sent = re.sub(r"program-[0-9a-f]+", "", texts(running.server.chats))
    for private in (
        *("ada", "Ada", "Lovelace", "example.org", "12345678", "lovelace"),
        *(request.submission, request.account, request.problem),
    ):
        assert private not in sent, private
    plain = next(chat for chat in running.server.chats if not chat.is_neutral)
    assert (1, 6, "    return sum(values)  # of all") in plain.lines, "line numbers are kept"


async def test_p5_the_neutral_variant_has_no_words_of_the_student(
    open_service: OpenService,
) -> None:
    source = 'def obey(please):\n    # be kind\n    return f"please {please} %d\\n"\n'
    async with open_service(a=says(GOOD)) as running:
        await running.evaluate(await make_request(running.pool, source))
    neutral = next(chat for chat in running.server.chats if chat.is_neutral)
    assert [text for _, _, text in neutral.lines] == [
        "def name1(name2):",
        "",
        '    return f"w {name2} %d\\n"',
    ]


@pytest.mark.parametrize(
    "model", [BROKEN, always(http(401)), always(http(302))], ids=["500", "401", "302"]
)
async def test_p3_a_failing_tier_leads_to_the_next(
    open_service: OpenService, model: Model
) -> None:
    async with open_service(a=model, b=says(GOOD)) as running:
        found = await running.evaluate()
        charged = await running.charged()
    assert (found.score, found.tier) == (100, "b")
    assert charged == 2 * 2 * ONE_CALL, "b costs twice as much as a, which cost nothing"
    assert found.usage.cost == charged


async def test_p3_a_slow_tier_leads_to_the_next_and_counts_as_billed(
    open_service: OpenService,
) -> None:
    async with open_service(a=SILENT, b=says(GOOD)) as running:
        slow = make_tier(running.server, "a", timeout_s=0.2)
        await running.use_tiers(slow, make_tier(running.server, "b"))
        found = await running.evaluate()
        calls = await running.calls("tier", "error", "charged_micros")
    assert (found.score, found.tier) == (100, "b")
    lost = [charged for tier, error, charged in calls if (tier, error) == ("a", "timeout")]
    assert len(lost) == 2
    assert min(lost) > ONE_CALL, "the most that the call can have cost"


@pytest.mark.parametrize("model", [SILENT, BROKEN], ids=["slow", "500"])
async def test_p3_if_no_tier_answers_the_stage_tries_later(
    open_service: OpenService, model: Model
) -> None:
    async with open_service(a=model) as running:
        await running.use_tiers(make_tier(running.server, "a", timeout_s=0.2))
        request = await make_request(running.pool)
        with pytest.raises(EvaluationDelayed):
            await running.evaluate(request)
        found = await running.evaluate(replace(request, is_last_attempt=True))
    assert found.method is Method.DETERMINISTIC
    assert found.without_model is WithoutModel.NO_REPLY


async def test_p3_a_rate_limit_is_respected_within_the_deadline(
    open_service: OpenService,
) -> None:
    async with open_service(a=in_turn(LIMITED, LIMITED, says(GOOD)), b=says(BAD)) as running:
        found = await running.evaluate()
        calls = await running.calls("tries", "charged_micros")
    assert (found.score, found.tier) == (100, "a")
    assert running.server.of("b") == []
    assert sum(tries for tries, _ in calls) == 4, "two calls were repeated"
    assert [charged for _, charged in calls] == [ONE_CALL, ONE_CALL]


async def test_p3_a_long_rate_limit_delays_the_stage_and_does_not_escalate(
    open_service: OpenService,
) -> None:
    async with open_service(a=LIMITED_FOR_LONG, b=says(GOOD)) as running:
        request = await make_request(running.pool)
        with pytest.raises(EvaluationDelayed) as delayed:
            await running.evaluate(request)
        assert delayed.value.retry_after_s == 120
        assert await running.charged() == 0
        found = await running.evaluate(replace(request, is_last_attempt=True))
    assert found.without_model is WithoutModel.NO_REPLY
    assert running.server.of("b") == []


@pytest.mark.parametrize(
    "model",
    [TRUNCATED, WRONG_SCHEMA, UNANSWERED, PROSE, NO_JSON],
    ids=["truncated", "schema", "unanswered", "prose", "html"],
)
async def test_p3_an_invalid_reply_is_repaired_once_then_the_next_tier_is_asked(
    open_service: OpenService, model: Model
) -> None:
    async with open_service(a=model, b=says(GOOD)) as running:
        found = await running.evaluate()
        charged = await running.charged()
    asked = [chat.is_repair for chat in running.server.of("a")]
    assert (found.score, found.tier) == (100, "b")
    assert sorted(asked) == [False, False, True, True]
    assert charged >= (4 + 2 * 2) * ONE_CALL, "invalid replies are paid, too"


async def test_p3_a_repaired_reply_is_used(open_service: OpenService) -> None:
    def model(chat: Chat) -> Any:
        return says(GOOD)(chat) if chat.is_repair else TRUNCATED(chat)

    async with open_service(a=model) as running:
        found = await running.evaluate()
        calls = await running.calls("number", "charged_micros")
    assert found.score == 100
    assert sorted(calls) == [(1, ONE_CALL), (1, ONE_CALL), (2, ONE_CALL), (2, ONE_CALL)]


async def test_p3_invalid_replies_of_the_last_tier_lead_to_the_deterministic_rubric(
    open_service: OpenService,
) -> None:
    async with open_service(a=PROSE) as running:
        found = await running.evaluate()
    assert found.without_model is WithoutModel.INVALID_REPLY
    assert found.usage.cost == 4 * ONE_CALL


def quoting(text: str, line: int, question: str) -> Model:
    """A model that quotes a text for one of its answers."""

    def model(chat: Chat) -> Any:
        reply = json.loads(proving(chat, GOOD))
        for answer in reply["answers"]:
            if answer["question"] == question:
                answer["quotes"] = [{"file": 1, "line": line, "text": text}]
        return answered(json.dumps(reply))

    return model


@pytest.mark.parametrize(
    ("text", "line"),
    [("split(everything)", 6), ("", 6), ("}", 6), ("# adds up", 5)],
    ids=["invented", "empty", "too short", "comment"],
)
async def test_p5_an_answer_without_evidence_earns_nothing(
    open_service: OpenService, text: str, line: int
) -> None:
    source = SOURCE.replace("adds up; thanks to ada.lovelace@example.org", "adds up")
    async with open_service(a=quoting(text, line, "repeats")) as running:
        found = await running.evaluate(await make_request(running.pool, source))
    assert found.score == 87.5
    assert {each.question: each.answer for each in found.answers}["repeats"] is None


async def test_p5_evidence_that_is_missing_for_much_of_the_score_escalates(
    open_service: OpenService,
) -> None:
    async with open_service(a=quoting("nowhere()", 1, "split"), b=says(GOOD)) as running:
        found = await running.evaluate()
    assert (found.score, found.tier) == (100, "b")


async def test_p5_a_wrong_line_number_is_corrected_if_the_line_exists(
    open_service: OpenService,
) -> None:
    source = "values = []\nprint(len(values))\n"

    def model(chat: Chat) -> Any:
        return quoting(chat.lines[0][2], 7, "split")(chat)

    async with open_service(a=model) as running:
        found = await running.evaluate(await make_request(running.pool, source))
    quotes = {str(each.question): each.quotes for each in found.answers}
    assert found.score == 100
    assert [(each.file, each.line) for each in quotes["split"]] == [(1, 1)]


async def test_p3_two_answers_that_differ_lead_to_the_next_tier(
    open_service: OpenService,
) -> None:
    unsure = in_turn(says(GOOD), says(GOOD), says(BAD))
    async with open_service(a=unsure, b=says(GOOD), answers=2) as running:
        found = await running.evaluate()
    assert (found.score, found.tier) == (100, "b")
    assert found.usage.cost == (4 + 4 * 2) * ONE_CALL


async def test_p3_answers_of_the_last_tier_that_differ_are_flagged(
    open_service: OpenService,
) -> None:
    async with open_service(a=in_turn(says(GOOD), says(GOOD), says(BAD)), answers=2) as running:
        found = await running.evaluate()
    assert (found.score, found.flag) == (None, Flag.ANSWERS_DISAGREE)


async def test_p3_an_answer_against_the_verdict_leads_to_the_next_tier(
    open_service: OpenService,
) -> None:
    wrong = Facts(Verdict.WRONG_ANSWER, 1, 3)
    async with open_service(a=says(GOOD), b=says({**GOOD, "passes": "no"})) as running:
        found = await running.evaluate(await make_request(running.pool, facts=wrong))
    assert (found.score, found.tier) == (50, "b")


async def test_p3_a_last_tier_that_contradicts_the_verdict_is_flagged(
    open_service: OpenService,
) -> None:
    wrong = Facts(Verdict.WRONG_ANSWER, 1, 3)
    async with open_service(a=says(GOOD)) as running:
        found = await running.evaluate(await make_request(running.pool, facts=wrong))
    assert (found.score, found.flag) == (None, Flag.CONTRADICTS_FACTS)


async def test_p5_a_score_that_moves_with_comments_and_names_is_flagged(
    open_service: OpenService,
) -> None:
    obedient = by_variant(plain=says(GOOD), neutral=says(BAD))
    async with open_service(a=obedient, b=says(GOOD), answers=2) as running:
        found = await running.evaluate()
    assert (found.score, found.flag, found.tier) == (None, Flag.SCORE_MOVED, "a")
    assert found.scores == {Variant.PLAIN: 100, Variant.NEUTRAL: 50}
    assert found.hints == ()
    assert running.server.of("b") == []
    assert found.usage.cost == 4 * ONE_CALL


async def test_a_circuit_opens_after_repeated_failures(open_service: OpenService) -> None:
    async with open_service(a=BROKEN, b=says(GOOD)) as running:
        for _ in range(4):
            assert (await running.evaluate()).tier == "b"
        errors = {error for (error,) in await running.calls("error")}
    assert len(running.server.of("a")) < 8, "the last evaluations did not ask it"
    assert "circuit_open" in errors


async def test_p3_a_second_evaluation_pays_only_what_was_not_answered(
    open_service: OpenService,
) -> None:
    half = by_variant(plain=says(GOOD), neutral=in_turn(BROKEN, says(GOOD)))
    async with open_service(a=half) as running:
        request = await make_request(running.pool)
        with pytest.raises(EvaluationDelayed):
            await running.evaluate(request)
        assert await running.charged() == ONE_CALL
        found = await running.evaluate(request)
        again = await running.evaluate(request)
    assert [chat.is_neutral for chat in running.server.chats].count(False) == 1
    assert found == again
    assert found.usage.cost == 2 * ONE_CALL


async def test_a_call_of_a_dead_process_is_taken_over_and_charged_once(
    open_service: OpenService,
) -> None:
    async with open_service(a=says(GOOD)) as running:
        request = await make_request(running.pool)
        await running.evaluate(request)
        first = await running.charged()
        async with connection(running.pool) as writing:
            # As if the process had been killed between the request and the response.
            await writing.execute("DELETE FROM evaluation")
            await writing.execute(
                "UPDATE model_call SET state = 'reserved', content = NULL, settled_at = NULL,"
                " reserved_micros = charged_micros, claimed_until = now() + interval '1 hour'"
            )
        with pytest.raises(EvaluationDelayed) as held:
            await running.evaluate(request)
        assert held.value.retry_after_s > 3000, "the process may still be alive"
        async with connection(running.pool) as writing:
            await writing.execute("UPDATE model_call SET claimed_until = now()")
        found = await running.evaluate(request)
    keys = [chat.headers["idempotency-key"] for chat in running.server.chats]
    assert found.score == 100
    assert found.usage.cost == first
    assert len(keys) == 4
    assert len(set(keys)) == 2, "an endpoint can see that calls are repeated"


async def test_a_rubric_of_the_problem_takes_precedence(open_service: OpenService) -> None:
    own = RUBRIC.replace("weight: 1", "weight: 3", 1)
    async with open_service(a=says(BAD)) as running:
        request = await make_request(running.pool)
        await use_rubric(running.pool, own, ProblemId("prob_sum"))
        found = await running.evaluate(request)
        async with transaction(running.pool) as writing:
            assert await rubrics.retire(writing, found.rubric)
        general = await running.evaluate()
    assert (found.score, general.score) == (75, 50)
    assert found.rubric != general.rubric


async def test_feedback_is_in_the_language_of_the_student(open_service: OpenService) -> None:
    async with open_service(a=says(BAD, hint="Vous pouvez faire mieux.")) as running:
        told = [
            hints_of(await running.evaluate(await make_request(running.pool, locale=locale)))
            for locale in (None, "de-AT", "fr")
        ]
    assert [hints["split"] for hints in told] == [
        "Split.",
        "Teile.",
        "Vous pouvez faire mieux.",
    ]


async def test_a_hint_with_code_is_shown_only_if_the_teacher_allows_it(
    open_service: OpenService,
) -> None:
    solution = "Use this: total = sum(values);"
    more = RUBRIC.replace("title: Rubric", "feedback: solutions\ntitle: Rubric", 1)
    async with open_service(a=says(BAD, hint=solution)) as running:
        found = await running.evaluate(await make_request(running.pool, locale="fr"))
        await use_rubric(running.pool, more)
        allowed = await running.evaluate(await make_request(running.pool, locale="fr"))
    assert hints_of(found) == {"split": "Split."}
    assert set(hints_of(allowed).values()) == {solution}


async def test_an_api_key_is_sent_and_neither_stored_nor_logged(
    open_service: OpenService, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_service(a=in_turn(says(GOOD), BROKEN, says(GOOD))) as running:
        await running.use_tiers(make_tier(running.server, "a", key_name="cheap"))
        request = await make_request(running.pool)
        with pytest.raises(EvaluationDelayed) as delayed:
            await running.evaluate(request)
        await running.evaluate(request)
        async with connection(running.pool) as reading:
            rows = await reading.fetch("SELECT t::text FROM model_tier t")
            rows += await reading.fetch("SELECT t::text FROM model_call t")
    assert running.server.chats[0].headers["authorization"] == "Bearer sk-very-secret"
    logged = capsys.readouterr()
    assert "evaluation.call" in logged.out
    assert "sk-very-secret" not in f"{rows}{logged.out}{logged.err}{delayed.value}"


async def test_h3_a_private_endpoint_needs_the_setting(
    open_service: OpenService, tokenizer: Tokenizer
) -> None:
    async with open_service(a=says(GOOD)) as running:
        client = ModelClient(ModelEndpoint())
        service = EvaluateService(running.pool, tokenizer, CATALOGUE, client)
        with pytest.raises(EvaluationDelayed):
            await service.evaluate(await make_request(running.pool))
        assert await running.calls("error") == [("unreachable",)] * 2
    assert running.server.chats == []


async def test_a_large_program_is_sent_only_to_a_tier_that_accepts_it(
    open_service: OpenService,
) -> None:
    async with open_service(a=says(GOOD), b=says(GOOD)) as running:
        small = make_tier(running.server, "a", max_source_bytes=100)
        await running.use_tiers(small, make_tier(running.server, "b"))
        assert (await running.evaluate()).tier == "b"
        await running.use_tiers(small)
        found = await running.evaluate()
    assert found.without_model is WithoutModel.TOO_LARGE


async def test_a_response_without_usage_costs_the_reserved_amount(
    open_service: OpenService,
) -> None:
    def model(chat: Chat) -> Any:
        return answered(proving(chat, GOOD), usage=False)

    async with open_service(a=model) as running:
        found = await running.evaluate()
    assert found.score == 100
    assert found.usage.cost > 2 * ONE_CALL


async def test_a_model_is_not_asked_what_facts_answer(open_service: OpenService) -> None:
    only_facts = RUBRIC[: RUBRIC.index("  - id: structure")]
    async with open_service(a=says(GOOD)) as running:
        await use_rubric(running.pool, only_facts)
        found = await running.evaluate()
    assert (found.score, found.without_model) == (100, WithoutModel.NOT_NEEDED)
    assert running.server.chats == []
