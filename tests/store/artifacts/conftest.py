"""Artifact stores in files and in a bucket, with access to their stored files."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deemster.store.artifacts import Artifacts
from tests.services.s3 import OwnS3, own_s3

TIMEOUT_S = 20.0


@dataclass(frozen=True)
class ArtifactStore:
    """An artifact store that several processes can open."""

    url: str | None
    data_dir: Path
    directory: Path
    """Contains the stored objects as files."""

    def open(self) -> Artifacts:
        return Artifacts.open(self.url, self.data_dir, timeout_s=TIMEOUT_S)

    def names(self) -> set[str]:
        files = (path for path in self.directory.rglob("*") if path.is_file())
        return {str(path.relative_to(self.directory)) for path in files}

    def content(self, digest: str) -> Path:
        return self.directory / "content" / digest[:2] / digest


@pytest.fixture(scope="session")
def s3() -> Iterator[OwnS3]:
    with own_s3() as server:
        yield server


@pytest.fixture
def files(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(None, tmp_path, tmp_path / "artifacts")


@pytest.fixture
def bucket(s3: OwnS3, tmp_path: Path) -> ArtifactStore:
    prefix = f"test/{uuid.uuid4().hex}"
    return ArtifactStore(s3.url(prefix), tmp_path, s3.directory / "artifacts" / prefix)


@pytest.fixture(params=["files", "bucket"])
def store(request: pytest.FixtureRequest) -> ArtifactStore:
    found: ArtifactStore = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def artifacts(store: ArtifactStore) -> Artifacts:
    return store.open()
