"""An artifact store."""

from pathlib import Path

import pytest

from deemster.store.artifacts import Artifacts
from tests.builders import make_artifacts


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return make_artifacts(tmp_path)
