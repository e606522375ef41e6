"""Opens the evaluation of submissions, with the API keys of the settings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from deemster.domain.errors import Refused
from deemster.domain.evaluation import RubricVersion
from deemster.domain.language import Catalogue
from deemster.domain.model_tier import ModelTier
from deemster.domain.rubric import Rubric, RubricId
from deemster.pipeline.evaluate.calibration import (
    Example,
    MemoryLedger,
    TierCalibration,
    calibrate_tier,
    example_submission,
)
from deemster.pipeline.evaluate.cascade import ModelTask
from deemster.pipeline.evaluate.evaluator import EvaluateService, prepare_variants
from deemster.pipeline.evaluate.model_endpoint import ModelEndpoint
from deemster.pipeline.evaluate.paid_calls import ModelClient
from deemster.programs.tokenizer import Tokenizer
from deemster.settings import Settings
from deemster.store.pool import Pool
from deemster.wiring.resources import revealed


@asynccontextmanager
async def open_evaluation(
    settings: Settings, pool: Pool, catalogue: Catalogue
) -> AsyncIterator[EvaluateService]:
    async with Tokenizer() as tokenizer:
        yield EvaluateService(
            pool,
            tokenizer,
            catalogue,
            open_model_client(settings),
            locale=settings.evaluation_language,
        )


async def calibrate(
    settings: Settings,
    catalogue: Catalogue,
    rubric: Rubric,
    examples: Sequence[Example],
    tiers: Sequence[ModelTier],
    ledger: MemoryLedger,
) -> list[TierCalibration]:
    """Asks every tier about every example; no database is needed."""
    version = RubricVersion(RubricId("rubric"), None, 1, "", rubric)
    client = open_model_client(settings)
    async with Tokenizer() as tokenizer:
        tasks = [
            (
                example,
                ModelTask(
                    submission=example_submission(number),
                    version=version,
                    facts=example.facts,
                    programs=await prepare_variants(
                        tokenizer, catalogue.named(example.language), example.files
                    ),
                    language=catalogue.named(example.language).name,
                    locale=settings.evaluation_language,
                ),
            )
            for number, example in enumerate(examples, 1)
        ]
        return [await calibrate_tier(client, tier, tasks, ledger) for tier in tiers]


def open_model_client(settings: Settings) -> ModelClient:
    keys = api_keys(settings)
    return ModelClient(ModelEndpoint(keys, allow_private=settings.evaluation_allow_private))


def api_keys(settings: Settings) -> dict[str, str]:
    """The keys by name. An error does not show them."""
    given = revealed(settings.evaluation_api_keys) or ""
    keys = {}
    for part in filter(None, map(str.strip, given.split(","))):
        name, separator, key = part.partition("=")
        if not (separator and name.strip() and key.strip()):
            raise Refused(
                "The setting evaluation_api_keys (DEEMSTER_EVALUATION_API_KEYS) is not valid: "
                "write name=key, with commas between several."
            )
        keys[name.strip()] = key.strip()
    return keys
