"""X7: hostile archives among a submission's additional files are refused, and cost little."""

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deemster.api.compat.judge0_archive import EXTRACTED_KB, BadArchive, decode, unzip


def zipped(
    *entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as opened:
        for name, content in entries:
            opened.writestr(name, content)
    return archive.getvalue()


GOOD = zipped(("./d/a.txt", b"a"), ("d/", b""), ("b", b"b" * 1000))


def linked() -> bytes:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped((entry, b"/etc/passwd"))


def encrypted() -> bytes:
    """The flag in both headers."""
    archive = bytearray(zipped(("a", b"a")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = archive.index(mark) + offset
        archive[at : at + 2] = struct.pack("<H", 1)
    return bytes(archive)


def bomb() -> bytes:
    """Entries that share their bytes: each alone is small enough."""
    one = zipped(("a", bytes(6 << 20)))
    local, central = one.index(b"PK\x03\x04"), one.index(b"PK\x01\x02")
    end = one.index(b"PK\x05\x06")
    directory = one[central:end] * 200
    counts = struct.pack("<HHII", 200, 200, len(directory), central)
    return one[local:central] + directory + one[end : end + 8] + counts + b"\0\0"


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "is not a zip archive"),
    "no archive": (lambda: b"PK\x03\x04", "is not a zip archive"),
    "truncated": (lambda: GOOD[:-30], "is not a zip archive"),
    "damaged content": (lambda: GOOD.replace(b"d/a.txt", b"d/b.txt", 1), "is not a zip"),
    "no name": (lambda: GOOD.replace(b"./d/", b"\0/d/"), "has a file without a name"),
    "encrypted": (encrypted, "is an encrypted zip archive"),
    "link": (linked, "contains a symbolic link"),
    "bzip2": (
        lambda: zipped(("a", b"a"), method=zipfile.ZIP_BZIP2),
        "uses an unsupported compression method",
    ),
    "LZMA": (
        lambda: zipped(("a", b"a"), method=zipfile.ZIP_LZMA),
        "uses an unsupported compression method",
    ),
    "zeros": (lambda: zipped(("a", bytes(100 << 20))), f"larger than {EXTRACTED_KB} KB"),
    "entries that overlap": (bomb, f"larger than {EXTRACTED_KB} KB"),
    "many files": (
        lambda: zipped(*((str(number), b"") for number in range(251))),
        "has more than 250 files",
    ),
    "very many entries": (lambda: b"PK\x01\x02" * 20_001, "has more than 250 files"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_archive_is_refused(case: str) -> None:
    make, message = REFUSED[case]
    with pytest.raises(BadArchive, match=message):
        unzip(make())


def test_a_good_archive_is_unpacked() -> None:
    assert unzip(GOOD) == {"d/a.txt": b"a", "b": b"b" * 1000}
    exact = EXTRACTED_KB * 1024
    assert len(unzip(zipped(("a", bytes(exact))))["a"]) == exact


@pytest.mark.parametrize("examples", [50, pytest.param(300, marks=pytest.mark.soak)])
def test_damage_is_always_recognised(examples: int) -> None:
    """Whatever zipfile raises."""

    @settings(max_examples=examples)
    @given(st.data())
    def is_recognised(data: st.DataObject) -> None:
        archive = bytearray(GOOD)
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(archive) - 1))
            archive[at] = data.draw(st.integers(0, 255))
        kept = data.draw(st.integers(0, len(archive)))
        with suppress(BadArchive):
            unzip(bytes(archive[:kept] if data.draw(st.booleans()) else archive))

    is_recognised()


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"", b""), (b"YQ", b"a"), (b"YQ==\n", b"a"), (b"Y\nQ=", b"a"), (b"YWJjZ", b"abc")],
)
def test_base64_is_read_as_ruby_does(text: bytes, expected: bytes) -> None:
    assert decode(text) == expected
