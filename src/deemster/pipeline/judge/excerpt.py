"""Beginnings of long outputs, kept to be shown."""

from pathlib import Path

from deemster.sandbox.streams import Sink

SHOWN_BYTES = 4_096


class Head:
    """Passes output on and keeps the beginning of it."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink
        self._kept = bytearray()
        self._cut = False

    def __call__(self, data: bytes) -> None:
        room = SHOWN_BYTES - len(self._kept)
        self._kept += data[:room]
        self._cut = self._cut or len(data) > room
        if self._sink is not None:
            self._sink(data)

    @property
    def text(self) -> str:
        return shown(bytes(self._kept), cut=self._cut)


def head_of_file(path: Path) -> str:
    with path.open("rb") as opened:
        found = opened.read(SHOWN_BYTES + 1)
    return shown(found[:SHOWN_BYTES], cut=len(found) > SHOWN_BYTES)


def shown(data: bytes, *, cut: bool) -> str:
    return data.decode(errors="replace") + ("…" if cut else "")
