"""Services on servers that all tests share; whoever kills servers starts their own."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.system.service import Service

OpenService = Callable[..., AbstractAsyncContextManager[Service]]


@pytest.fixture
def open_service(
    tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> OpenService:
    """With its queue in Redis; further settings can be given."""
    return partial(Service.open, tmp_path, database_url, redis_url, queue_env)
