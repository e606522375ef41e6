"""Stores artifacts as private files, durably: a write is on the disk when it returns.

```
root/                       0700
  content/<ab>/<digest>     0600, complete as soon as it has this name
  revisions/<digest>.tar
  .incoming/                a locked directory for each file that is being written
```

obstore's own file store is not used: it offers no fsync.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from deemster.directory_store import staged, sweep
from deemster.domain.errors import Unavailable
from deemster.locks import locked
from deemster.store.artifacts.backend import BATCH, CHUNK_BYTES, ArtifactEntry, artifact_missing

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
INCOMING = ".incoming"
"""Artifact names never start with a dot."""


class FileBackend:
    """Several processes may use it at the same time; if they are on several machines, the
    file system must offer locks between them, as NFS does.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / INCOMING
        self._cleaned = False

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        target = self._root / name
        if not self._cleaned:
            self._cleaned = True
            self.remove_partial_files()
        with self._errors_as_unavailable(), self._staged() as place:
            path = place / "content"
            with os.fdopen(os.open(path, NEW_FILE, 0o600), "wb") as file:
                file.writelines(chunks)
                file.flush()
                if os.fstat(file.fileno()).st_size != size_bytes:
                    raise Unavailable(
                        f"The source of {name} changed while it was stored: try again."
                    )
                os.fsync(file.fileno())
            self._make_directory(target.parent)
            # `remove` checks the time and unlinks under this lock: it can't remove the new one.
            with locked(self._root, fcntl.LOCK_SH):
                path.replace(target)
            sync_directory(target.parent)

    def read(self, name: str) -> Iterator[bytes]:
        with self._errors_as_unavailable():
            try:
                file = (self._root / name).open("rb")
            except FileNotFoundError:
                raise artifact_missing(name, str(self._root)) from None
        with file:
            while True:
                with self._errors_as_unavailable():
                    chunk = file.read(CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk

    def find(self, name: str) -> ArtifactEntry | None:
        with self._errors_as_unavailable(), suppress(FileNotFoundError):
            found = (self._root / name).stat()
            return ArtifactEntry(name, found.st_size, found.st_mtime)
        return None

    def list(self, folder: str) -> Iterator[list[ArtifactEntry]]:
        batch: list[ArtifactEntry] = []
        for place, below, names in os.walk(self._root / folder):
            below.sort()
            for name in names:
                entry = self.find(str((Path(place) / name).relative_to(self._root)))
                if entry is not None:
                    batch.append(entry)
                if len(batch) == BATCH:
                    yield batch
                    batch = []
        if batch:
            yield batch

    def ping(self) -> None:
        with self._errors_as_unavailable(), self._staged():
            pass

    def remove_partial_files(self) -> None:
        with self._errors_as_unavailable():
            sweep(self._incoming)

    def _staged(self) -> AbstractContextManager[Path]:
        if not self._incoming.is_dir():
            self._incoming.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._root.chmod(0o700)
        return staged(self._incoming)

    def _make_directory(self, path: Path) -> None:
        if path.is_dir():
            return
        self._make_directory(path.parent)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        sync_directory(path.parent)

    @contextmanager
    def _errors_as_unavailable(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise Unavailable(
                f"Artifacts can't be stored in {self._root} ({fault.strerror}): free some "
                "space, or name another directory with DEEMSTER_ARTIFACTS_URL."
            ) from fault


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
