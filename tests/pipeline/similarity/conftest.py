"""A tokenizer and an artifact store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deemster.programs.tokens import Tokenizer
from deemster.store.artifacts import Artifacts
from tests.builders import make_artifacts


@pytest.fixture
async def tokenizer() -> AsyncIterator[Tokenizer]:
    async with Tokenizer() as opened:
        yield opened


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return make_artifacts(tmp_path)
