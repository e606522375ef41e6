"""An issuer of tokens, for tests of log-ins at other servers."""

from collections.abc import AsyncIterator

import pytest

from tests.api.auth.issuer_server import IssuerServer, issuing


@pytest.fixture
async def issuer() -> AsyncIterator[IssuerServer]:
    async with issuing() as running:
        yield running
