"""Submissions with a small rubric, and a service that evaluates them with models of a test."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from deemster.domain.evaluation import Evaluation, EvaluationRequest, Facts
from deemster.domain.ids import ProblemId
from deemster.domain.model_tier import Budgets, Micros, ModelTier, TierName
from deemster.domain.verdict import Verdict
from deemster.pipeline.evaluate.evaluator import EvaluateService
from deemster.pipeline.evaluate.model_endpoint import ModelEndpoint
from deemster.pipeline.evaluate.paid_calls import ModelClient
from deemster.pipeline.evaluate.rubric_file import digest_of, parse_rubric
from deemster.programs.build.languages import load_catalogue
from deemster.programs.tokenizer import Tokenizer
from deemster.store import model_tiers, rubrics
from deemster.store.pool import Pool, connection, transaction
from deemster.store.rubrics import NewRubric
from tests.builders import make_account, make_submission
from tests.services.model_server import Model, ModelServer, model_server

CATALOGUE = load_catalogue()
RUBRIC = """
title: Rubric for tests
criteria:
  - id: correctness
    title: Correctness
    weight: 1
    questions:
      - id: passes
        text: Does it pass?
        yes_if: {verdict: [Accepted]}
        hints: {en: Test it.}
  - id: structure
    title: Structure
    weight: 1
    questions:
      - id: split
        text: Is it split into functions?
        points: 3
        hints: {en: Split., de: Teile.}
      - id: repeats
        text: Is code repeated?
        good: no
"""
GOOD = {"passes": "yes", "split": "yes", "repeats": "no"}
BAD = {"passes": "yes", "split": "no", "repeats": "yes"}
ONE_CALL = Micros(100_000 + 40_000)
"""1000 and 200 tokens, at the prices of the tier a."""
SOURCE = """\
# Written by Ada Lovelace <ada@example.org>, matriculation number 12345678
import sys

def total(values):
    # adds up; thanks to ada.lovelace@example.org
    return sum(values)  # of all

print(total(map(int, sys.stdin.read().split())))
"""


def make_tier(server: ModelServer, name: str, **more: Any) -> ModelTier:
    """Prices follow the names: a is the cheapest, b costs twice as much."""
    factor = Decimal(1 + ord(name[0]) - ord("a"))
    fields: dict[str, Any] = {
        "name": TierName(name),
        "base_url": server.base_url,
        "model": name,
        "input_price": 100 * factor,
        "output_price": 200 * factor,
        "answers": 1,
        "max_output_tokens": 500,
    }
    return ModelTier(**{**fields, **more})


@dataclass(frozen=True, slots=True)
class RunningService:
    pool: Pool
    service: EvaluateService
    server: ModelServer

    async def use_tiers(self, *tiers: ModelTier) -> None:
        async with transaction(self.pool) as writing:
            await model_tiers.replace_tiers(writing, tiers)

    async def use_budgets(self, **amounts: int) -> None:
        whole = {"submission": 10**9, "user_day": 10**9, "day": 10**9, **amounts}
        async with connection(self.pool) as writing:
            await model_tiers.set_budgets(
                writing, Budgets(**{name: Micros(each) for name, each in whole.items()})
            )

    async def evaluate(self, request: EvaluationRequest | None = None) -> Evaluation:
        found = await self.service.evaluate(request or await make_request(self.pool))
        async with transaction(self.pool) as writing:
            await self.service.record(writing, found)
        return found

    async def calls(self, *columns: str) -> list[tuple[Any, ...]]:
        """Columns of all calls, in the order of their reservation."""
        async with connection(self.pool) as reading:
            rows = await reading.fetch(
                f"SELECT {', '.join(columns)} FROM model_call ORDER BY id"
            )
        return [tuple(row) for row in rows]

    async def charged(self) -> int:
        return sum(charged for (charged,) in await self.calls("charged_micros"))


OpenService = Callable[..., Any]


@pytest.fixture
def open_service(pool: Pool, tokenizer: Tokenizer) -> OpenService:
    """Opens a service for models by name; all of them are tiers."""

    @asynccontextmanager
    async def opened(*, answers: int = 1, **models: Model) -> AsyncIterator[RunningService]:
        await use_rubric(pool, RUBRIC)
        endpoint = ModelEndpoint({"cheap": "sk-very-secret"}, allow_private=True)
        async with model_server(**models) as server:
            service = EvaluateService(pool, tokenizer, CATALOGUE, ModelClient(endpoint))
            found = RunningService(pool, service, server)
            await found.use_budgets()
            await found.use_tiers(
                *(make_tier(server, name, answers=answers) for name in models)
            )
            yield found

    return opened


async def use_rubric(pool: Pool, yaml: str, problem: ProblemId | None = None) -> None:
    new = NewRubric(problem, digest_of(yaml), parse_rubric(yaml).title, yaml, "a test")
    async with transaction(pool) as writing:
        await rubrics.add(writing, new)


async def make_request(
    pool: Pool, source: str = SOURCE, *, name: str = "ada", **more: Any
) -> EvaluationRequest:
    account = await make_account(pool, name)
    fields: dict[str, Any] = {
        "submission": await make_submission(pool, account),
        "account": account,
        "account_name": name,
        "problem": ProblemId("prob_sum"),
        "language": "python3",
        "files": {"ada_lovelace.py": source.encode()},
        "main": "ada_lovelace.py",
        "facts": Facts(Verdict.ACCEPTED, 3, 3, runtime_ms=10, limit_ms=1000),
    }
    return EvaluationRequest(**{**fields, **more})
