"""A backup file is a stream, and a damaged one is noticed."""

import io
import tarfile
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.store.backup.archive import CHUNK_BYTES, Manifest, Reader, Writer

CONTENT = {
    "database/000000": b"dump " * 100,
    "database/000001": b"",
    "secret.key": b"secret",
    "artifacts/content/ab/abc": b"x" * (2 * CHUNK_BYTES + 7),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "backup.tar"
    with path.open("wb") as file, Writer.open(file) as writer:
        for name, content in CONTENT.items():
            writer.add(name, [content[:100], content[100:]], len(content))
        writer.finish("1.0", 7)
    return path


def read(path: Path) -> tuple[dict[str, bytes], Manifest]:
    reader = Reader(path)
    found = {each.name: b"".join(each.chunks) for each in reader.members()}
    return found, reader.check()


def test_a_reader_gets_what_was_written(path: Path) -> None:
    found, manifest = read(path)
    assert found == CONTENT
    assert (manifest.deemster, manifest.tables, manifest.members) == ("1.0", 7, 4)
    assert manifest.bytes == sum(map(len, CONTENT.values()))


def test_members_that_are_not_read_are_counted_too(path: Path) -> None:
    reader = Reader(path)
    assert [each.name for each in reader.members()] == list(CONTENT)
    assert reader.check().members == 4


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
def test_a_backup_that_is_cut_short_is_refused(path: Path, part: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(Refused, match="backup"):
        read(path)


def test_a_backup_without_its_last_member_is_refused(path: Path) -> None:
    content = path.read_bytes()
    end = content.index(b"manifest.json")
    path.write_bytes(content[:end] + bytes(1024))
    with pytest.raises(Refused, match="cut short"):
        read(path)


@pytest.mark.parametrize("at", [600, 3000, 2_000_000])
def test_a_flipped_bit_is_noticed(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(Refused):
        read(path)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "artifacts/../x", "artifacts/.incoming/x", "x"]
)
def test_unexpected_names_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "strange.tar"
    with path.open("wb") as file, Writer.open(file) as writer:
        writer.add(name, [b"x"], 1)
        writer.finish("1.0", 1)
    with pytest.raises(Refused, match="does not belong there"):
        read(path)


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "linked.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("artifacts/content/ab/abc")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(Refused, match="does not belong there"):
        read(path)


def test_a_backup_of_another_format_names_its_version(tmp_path: Path) -> None:
    path = tmp_path / "newer.tar"
    text = b'{"format": 99, "deemster": "9.9"}'
    with tarfile.open(path, "w") as tar:
        header = tarfile.TarInfo("manifest.json")
        header.size = len(text)
        tar.addfile(header, io.BytesIO(text))
    with pytest.raises(Refused, match=r"another version of Deemster \(9.9\)"):
        read(path)
