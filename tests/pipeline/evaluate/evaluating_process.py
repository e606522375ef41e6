"""Evaluates one submission in a process that a test kills."""

import asyncio
import sys
from pathlib import Path

from deemster.domain.ids import SubmissionId
from deemster.pipeline.evaluate.evaluator import EvaluateService
from deemster.pipeline.evaluate.model_endpoint import ModelEndpoint
from deemster.pipeline.evaluate.paid_calls import ModelClient
from deemster.pipeline.evaluate.read_request import read_request
from deemster.programs.build.languages import load_catalogue
from deemster.programs.tokenizer import Tokenizer
from deemster.store.pool import connection, open_pool, transaction
from tests.builders import make_artifacts


async def evaluate(database_url: str, directory: str, submission: str) -> None:
    async with open_pool(database_url, name="test") as pool, Tokenizer() as tokenizer:
        client = ModelClient(ModelEndpoint(allow_private=True))
        service = EvaluateService(pool, tokenizer, load_catalogue(), client)
        async with connection(pool) as reading:
            request = await read_request(
                reading, make_artifacts(Path(directory)), SubmissionId(submission)
            )
        found = await service.evaluate(request)
        async with transaction(pool) as writing:
            await service.record(writing, found)


if __name__ == "__main__":
    asyncio.run(evaluate(*sys.argv[1:]))
