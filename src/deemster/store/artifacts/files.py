"""Artifacts as files of one machine: private, and on the disk when a write returns.

```
root/                       0700, ours alone
  content/<ab>/<digest>     0600, whole from the moment that it has this name
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
from deemster.store.artifacts.backend import BATCH, CHUNK_BYTES, ArtifactEntry, missing

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
INCOMING = ".incoming"
"""No artifact's name begins with a dot."""


class FileBackend:
    """For many processes at once, on one machine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / INCOMING
        self._tidied = False

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        target = self._root / name
        if not self._tidied:
            self._tidied = True
            self.tidy()
        with self._faults(), self._staged() as place:
            path = place / "content"
            with os.fdopen(os.open(path, NEW_FILE, 0o600), "wb") as file:
                file.writelines(chunks)
                file.flush()
                if os.fstat(file.fileno()).st_size != size_bytes:
                    raise Unavailable(f"What was to be kept as {name} changed meanwhile.")
                os.fsync(file.fileno())
            self._make_directory(target.parent)
            # `remove` looks at the time and unlinks under this lock: it can't take the new one.
            with locked(self._root, fcntl.LOCK_SH):
                path.replace(target)
            sync_directory(target.parent)

    def read(self, name: str) -> Iterator[bytes]:
        with self._faults():
            try:
                file = (self._root / name).open("rb")
            except FileNotFoundError:
                raise missing(name, str(self._root)) from None
        with file:
            while True:
                with self._faults():
                    chunk = file.read(CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk

    def find(self, name: str) -> ArtifactEntry | None:
        with self._faults(), suppress(FileNotFoundError):
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

    def remove(self, name: str, before_s: float | None = None) -> bool:
        path = self._root / name
        with (
            self._faults(),
            suppress(FileNotFoundError),
            locked(self._root, fcntl.LOCK_EX),
        ):
            if before_s is None or path.stat().st_mtime < before_s:
                path.unlink()
                return True
        return False

    def ping(self) -> None:
        with self._faults(), self._staged():
            pass

    def tidy(self) -> None:
        with self._faults():
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
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise Unavailable(
                f"Artifacts can't be kept in {self._root} ({fault.strerror}): make room there, "
                "or name another place with DEEMSTER_DATA_DIR."
            ) from fault


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
