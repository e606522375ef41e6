"""Malicious archives are refused (J8)."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tarfile import (
    BLKTYPE,
    CHRTYPE,
    DIRTYPE,
    FIFOTYPE,
    GNU_FORMAT,
    LNKTYPE,
    REGTYPE,
    SYMTYPE,
    TarFile,
    TarInfo,
)

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.problems.archive import Bounds, bounds, unpack
from tests.problems.trees import read_tree, write_tree

ESCAPES = ["../x", "a/../../x", "/etc/x", "a/../../../x", "..", "./../x"]
SMALL = Bounds(total_bytes=1000, files=10, depth=3)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "target"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def refused(target: Path, tmp_path: Path) -> Callable[..., str]:
    """Unpacks, expects a refusal, and makes sure that nothing came out elsewhere."""

    def unpack_and_fail(source: Path, bounds: Bounds | None = None) -> str:
        before = set(tmp_path.rglob("*"))
        with pytest.raises(Refused) as caught:
            unpack(source, target, bounds)
        new = set(tmp_path.rglob("*")) - before
        assert all(path.is_relative_to(target) for path in new)
        assert not any(path.is_symlink() for path in new)
        message = str(caught.value)
        assert message.encode()
        return message

    return unpack_and_fail


@pytest.fixture
def zipped(tmp_path: Path) -> Callable[..., Path]:
    def pack(entries: list[tuple[str | zipfile.ZipInfo, bytes]], **kwargs: int) -> Path:
        path = tmp_path / "hostile.zip"
        with zipfile.ZipFile(path, "w", **kwargs) as archive:  # type: ignore[call-overload]
            for name, content in entries:
                archive.writestr(name, content)
        return path

    return pack


@pytest.fixture
def tarred(tmp_path: Path) -> Callable[..., Path]:
    def pack(*members: tuple[str, bytes, str, bytes]) -> Path:
        path = tmp_path / "hostile.tar"
        with TarFile.open(path, "w") as archive:
            for name, kind, link, content in members:
                info = TarInfo(name)
                info.type, info.linkname, info.size = kind, link, len(content)
                archive.addfile(info, io.BytesIO(content))
        return path

    return pack


def linked(name: str, kind: int = stat.S_IFLNK) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o777) << 16
    return info


# ---- names ----


@pytest.mark.parametrize("name", [*ESCAPES, "..\\..\\x", "a\\..\\..\\x", "\\x"])
def test_a_zip_cannot_name_a_file_outside(
    zipped: Callable[..., Path], refused: Callable[..., str], name: str
) -> None:
    assert (
        "outside of itself" in (said := refused(zipped([(name, b"x")]))) or "absolute" in said
    )


@pytest.mark.parametrize("name", ESCAPES)
def test_a_tar_cannot_name_a_file_outside(
    tarred: Callable[..., Path], refused: Callable[..., str], name: str
) -> None:
    said = refused(tarred((name, REGTYPE, "", b"x")))
    assert "outside of itself" in said or "absolute" in said


@pytest.mark.parametrize(
    "name",
    ["a\nb", "a\x1b[31mb", "x" * 256, "é" * 128, "/".join(["x" * 200] * 6)],
    ids=["line end", "escape", "long", "many bytes", "long in all"],
)
def test_unprintable_and_too_long_names_are_refused(
    zipped: Callable[..., Path], refused: Callable[..., str], name: str
) -> None:
    said = refused(zipped([(name, b"x")]))
    assert "control characters" in said or "too long" in said
    assert said.isprintable()


def test_a_name_that_is_not_unicode_is_refused(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    Path(os.fsdecode(os.fsencode(source) + b"/\xff\xfe")).touch()
    assert "isn't UTF-8" in refused(source)
    with TarFile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(source, "source")
    assert "isn't UTF-8" in refused(tmp_path / "a.tar")


def test_a_duplicate_name_is_refused(
    zipped: Callable[..., Path], tarred: Callable[..., Path], refused: Callable[..., str]
) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped([("a", b"1"), ("b", b""), ("a", b"2")])
    assert "more than once" in refused(path)
    assert "more than once" in refused(tarred(*[("./c", REGTYPE, "", b"")] * 2))


@pytest.mark.parametrize(
    "order", [["a", "a/b"], ["a/b", "a"], ["a/b", "a//"], ["a/b/c", "a/b"]]
)
def test_a_name_can_not_be_a_file_and_a_directory(
    zipped: Callable[..., Path], refused: Callable[..., str], order: list[str]
) -> None:
    entries = [(name.rstrip("/"), b"x") for name in order]
    if order[1] == "a//":
        entries = [("a", b"x"), ("a/", b"")]
    assert "more than once" in refused(zipped(entries))


# ---- links ----


@pytest.mark.parametrize("aim", ["/etc/passwd", "../../etc/passwd", "../x", "a/../../x", ""])
def test_a_link_to_outside_is_refused(
    zipped: Callable[..., Path],
    tarred: Callable[..., Path],
    refused: Callable[..., str],
    tmp_path: Path,
    aim: str,
) -> None:
    assert "leads outside" in refused(zipped([(linked("l"), aim.encode())]))
    assert "leads outside" in refused(tarred(("l", SYMTYPE, aim, b"")))
    if aim:
        source = tmp_path / "source"
        source.mkdir()
        (source / "l").symlink_to(aim)
        assert "leads outside" in refused(source)


def test_a_link_to_outside_can_be_left_out(tmp_path: Path) -> None:
    """Packages of some public repositories link their statements this way."""
    source = write_tree(tmp_path / "all" / "sum", {"problem.yaml": "", "data/1.in": "1"})
    write_tree(tmp_path / "all", {"sum.pdf": "of the host"})
    links = {"data/a.pdf": "../../sum.pdf", "b": "/etc/passwd", "data/2.in": "../data/1.in"}
    for name, aim in links.items():
        (source / name).symlink_to(aim)
    target = tmp_path / "target"
    target.mkdir()
    unpacked = unpack(source, target, skip_outside_links=True)
    assert set(read_tree(target)) == {"problem.yaml", "data/1.in", "data/2.in"}
    text = "The link {!r} leads outside of the package ({!r}), and is left out."
    left_out = ("b", "data/a.pdf")
    assert unpacked.warnings == tuple(text.format(name, links[name]) for name in left_out)


def test_a_file_behind_a_link_is_refused(
    zipped: Callable[..., Path], tarred: Callable[..., Path], refused: Callable[..., str]
) -> None:
    """The classic: a link first, then a file that is written through it."""
    assert "more than once" in refused(zipped([(linked("a"), b"b"), ("a/x", b"x")]))
    members = [("a", SYMTYPE, "b", b""), ("a/x", REGTYPE, "", b"x")]
    assert "more than once" in refused(tarred(*members))


@pytest.mark.parametrize(
    "links",
    [
        {"a": "a"},
        {"a": "b", "b": "a"},
        {"d/a": "."},
        {"d/a": ".."},
        {"d/a": "../e", "e/b": "../d"},
        {"d/a/b": "../../d"},
        {"a/x": "../d", "d/y": "../e", "e/z": "../d"},
        {"a": "missing"},
        {"a": "d/file/x", "d/x": "file"},
    ],
)
def test_circular_and_dangling_links_are_refused(
    zipped: Callable[..., Path], refused: Callable[..., str], links: dict[str, str]
) -> None:
    entries = [("d/file", b""), ("e/file", b"")]
    entries += [(linked(name), aim.encode()) for name, aim in links.items()]  # type: ignore[misc]
    said = refused(zipped(entries))
    assert any(part in said for part in ("circle", "contains it", "leads to nothing"))


def test_links_through_many_long_paths_are_refused_soon(
    refused: Callable[..., str], tarred: Callable[..., Path]
) -> None:
    """J8: resolving the links of an archive takes time in proportion to its size."""
    long = "d/../" * 800
    chain = [(f"l{n}", SYMTYPE, f"{long}l{n + 1}", b"") for n in range(39)]
    many = [(f"m{n}", SYMTYPE, f"{long}l0", b"") for n in range(2000)]
    members = [("d", DIRTYPE, "", b""), *chain, ("l39", REGTYPE, "", b"x"), *many]
    assert "too many others" in refused(tarred(*members))


def test_links_inside_the_package_become_copies(tmp_path: Path, target: Path) -> None:
    source = write_tree(tmp_path / "source", {"lib/testlib.h": "lib", "lib/deep/x": "x"})
    write_tree(source, {"check/check.cpp": "check"})
    (source / "check" / "testlib.h").symlink_to("../lib/testlib.h")
    (source / "check" / "lib").symlink_to("../lib")
    (source / "again").symlink_to("check/lib/deep")
    (source / "twice").symlink_to("again/../testlib.h")
    (source / "lib" / "up").symlink_to("../check/check.cpp")
    unpack(source, target)
    assert read_tree(target) == read_tree(source) | {
        "check/lib/testlib.h": b"lib",
        "check/lib/deep/x": b"x",
        "check/lib/up": b"check",
        "again/x": b"x",
    }
    assert not any(path.is_symlink() for path in target.rglob("*"))


def test_a_hard_link_of_a_tar_becomes_a_copy_of_a_file_inside(
    tarred: Callable[..., Path], target: Path, refused: Callable[..., str]
) -> None:
    unpack(tarred(("d/a", REGTYPE, "", b"x"), ("e/b", LNKTYPE, "d/a", b"")), target)
    assert read_tree(target) == {"d/a": b"x", "e/b": b"x"}
    assert (target / "e" / "b").stat().st_nlink == 1


@pytest.mark.parametrize("aim", ["/etc/passwd", "../x", "missing"])
def test_a_hard_link_of_a_tar_to_elsewhere_is_refused(
    tarred: Callable[..., Path], refused: Callable[..., str], aim: str
) -> None:
    said = refused(tarred(("a", LNKTYPE, aim, b"")))
    assert "leads outside" in said or "leads to nothing" in said


def test_copies_of_links_count_towards_the_bounds(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    """Ten directories, each with two links to the next: 2^10 copies of a file."""
    source = tmp_path / "source"
    for number in range(10):
        write_tree(source / f"d{number}", {"file": "x"})
        for name in "ab":
            (source / f"d{number}" / name).symlink_to(f"../d{number + 1}")
    write_tree(source / "d10", {"file": "x" * 100})
    said = refused(source, Bounds(files=500))
    assert "DEEMSTER_PACKAGE_FILES" in said
    (tmp_path / "b").mkdir()
    with pytest.raises(Refused, match="DEEMSTER_PACKAGE_MB"):
        unpack(source, tmp_path / "b", Bounds(total_bytes=2_000))


# ---- no files at all ----


@pytest.mark.parametrize("kind", [CHRTYPE, BLKTYPE, FIFOTYPE])
def test_a_tar_with_a_device_or_pipe_is_refused(
    tarred: Callable[..., Path], refused: Callable[..., str], kind: bytes
) -> None:
    assert "device or a pipe" in refused(
        tarred(("d", DIRTYPE, "", b""), ("d/x", kind, "", b""))
    )


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_a_zip_with_a_device_or_pipe_is_refused(
    zipped: Callable[..., Path], refused: Callable[..., str], kind: int
) -> None:
    assert "device, pipe" in refused(zipped([(linked("x", kind), b"")]))


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_a_directory_with_a_pipe_socket_or_device_is_refused(
    tmp_path: Path, refused: Callable[..., str], kind: str
) -> None:
    source = write_tree(tmp_path / "source", {"a": ""})
    match kind:
        case "pipe":
            os.mkfifo(source / "odd")
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(source / "odd"))
        case "device":
            # Any user may make this one: it stands for nothing.
            os.mknod(source / "odd", stat.S_IFCHR | 0o600, os.makedev(0, 0))
    assert "device, pipe or socket" in refused(source)


# ---- bombs ----


def test_the_number_of_bytes_is_bounded(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    path = zipped([(name, b"x" * 400) for name in "abc"])
    assert "DEEMSTER_PACKAGE_MB" in refused(path, SMALL)


def test_the_number_of_files_is_bounded(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    assert "more than 10 files" in refused(zipped([(f"{n}", b"") for n in range(11)]), SMALL)
    assert "more than 10 files" in refused(zipped([(f"{n}/x/", b"") for n in range(9)]), SMALL)


def test_depth_is_bounded(
    zipped: Callable[..., Path], tarred: Callable[..., Path], refused: Callable[..., str]
) -> None:
    assert "3 directories deep" in refused(zipped([("a/b/c/d", b"")]), SMALL)
    assert "directories deep" in refused(tarred(("a/" * 40 + "x", REGTYPE, "", b"")))
    assert "too long" in refused(zipped([("a/" * 5000 + "x", b"")]))


def test_a_zip_with_a_high_compression_ratio_is_refused(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    path = zipped([("zeros", bytes(70 * MIB))], compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < MIB
    assert "250 times" in refused(path)


def test_bytes_of_a_zip_are_counted_whatever_sizes_it_declares(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    path = zipped([("zeros", bytes(MIB))], compression=zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    size = struct.pack("<L", MIB)
    assert content.count(size) == 2
    path.write_bytes(content.replace(size, struct.pack("<L", 10)))
    said = refused(path, SMALL)
    assert "damaged" in said or "DEEMSTER_PACKAGE_MB" in said


def test_overlapping_entries_are_refused(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    """Many names in the central directory for one and the same packed file."""
    content = zipped([("aa", b"x" * 100), ("bb", b"")]).read_bytes()
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    first = content[start : content.index(b"PK\x01\x02", start + 4)]
    entries = [first.replace(b"aa", b"%02d" % number) for number in range(9)]
    listed = b"".join(entries)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, len(listed), start, 0)
    path = zipped([])
    path.write_bytes(content[:start] + listed + tail)
    assert end > start
    assert "overlaps" in refused(path)


def test_a_quoted_overlap_is_refused(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    """One entry's packed bytes hold the next entry, header and all."""
    kernel = zipped([("bb", b"x" * 100)]).read_bytes()
    inner = kernel[: kernel.index(b"PK\x01\x02")]
    head = struct.pack(
        "<4s5H3L2H",
        b"PK\x03\x04",
        20,
        0,
        0,
        0,
        0,
        zlib.crc32(inner),
        len(inner),
        len(inner),
        2,
        0,
    )
    listing = b""
    for name, data, at in ((b"aa", inner, 0), (b"bb", b"x" * 100, len(head) + 2)):
        listing += struct.pack(
            "<4s6H3L5H2L",
            b"PK\x01\x02", 20, 20, 0, 0, 0, 0, zlib.crc32(data), len(data), len(data),
            2, 0, 0, 0, 0, 0, at,
        ) + name  # fmt: skip
    start = len(head) + 2 + len(inner)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2, 2, len(listing), start, 0)
    path = zipped([])
    path.write_bytes(head + b"aa" + inner + listing + tail)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 2
    assert "overlaps" in refused(path)


def test_a_zip_with_a_million_entries_is_refused_quickly(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    """The central directory is refused before objects are made of it."""
    path = zipped([])
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *[0] * 9, 1, *[0] * 6) + b"x"
    listing = entry * 1_000_000
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(listing), 0, 0)
    path.write_bytes(b"PK\x03\x04" + listing + tail)
    tracemalloc.start()
    try:
        assert "more than 20,000 files" in refused(path)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(listing)
    finally:
        tracemalloc.stop()


def test_a_large_central_directory_is_refused(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    path = zipped([])
    size = 65 * MIB
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, size, 0, 0)
    path.write_bytes(b"PK\x03\x04" + bytes(size - 4) + tail)
    assert "central directory is too long" in refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unbounded_compression_methods_are_refused(
    zipped: Callable[..., Path], refused: Callable[..., str], method: int
) -> None:
    assert "deflate" in refused(zipped([("a", b"x" * 100)], compression=method))


def test_an_encrypted_zip_is_refused_with_a_clear_message(
    zipped: Callable[..., Path], refused: Callable[..., str]
) -> None:
    path = zipped([("a", b"secret"), ("b", b"")])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert "without a password" in refused(path)


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, bz2.compress, partial(lzma.compress, preset=0)],
    ids=["gz", "bz2", "xz"],
)
def test_a_tar_with_a_high_compression_ratio_is_refused(
    tmp_path: Path,
    target: Path,
    tarred: Callable[..., Path],
    refused: Callable[..., str],
    pack: Callable[[bytes], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the many bytes are skipped and never kept."""
    monkeypatch.setattr(bounds, "RATIO_FROM_BYTES", 4 * MIB)
    few = Bounds(files=100)
    for name in ("kept", ".git/skipped"):
        plain = tarred((name, REGTYPE, "", bytes(5 * MIB))).read_bytes()
        path = tmp_path / "bomb.tar.x"
        path.write_bytes(pack(plain))
        assert "250 times" in refused(path, few)
        shutil.rmtree(target)
        target.mkdir()


def test_a_tar_with_an_endless_header_is_refused(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    info = TarInfo("././@PaxHeader")
    info.type, info.size = b"x", 1 << 40
    (tmp_path / "a.tar").write_bytes(info.tobuf(GNU_FORMAT) + bytes(100_000))
    assert "header that is too large" in refused(tmp_path / "a.tar")


def test_a_tar_header_of_digits_is_refused(tmp_path: Path, refused: Callable[..., str]) -> None:
    info = TarInfo("././@PaxHeader")
    info.type, info.size = b"x", 60_000
    digits = b"1" * 60_000 + bytes(-60_000 % 512)
    (tmp_path / "a.tar").write_bytes(info.tobuf() + digits + bytes(1024))
    assert "digits" in refused(tmp_path / "a.tar")


def test_a_truncated_tar_is_refused(tmp_path: Path, refused: Callable[..., str]) -> None:
    info = TarInfo("a")
    info.size = 1 << 50
    (tmp_path / "a.tar").write_bytes(info.tobuf(GNU_FORMAT) + bytes(2048))
    assert "damaged" in refused(tmp_path / "a.tar")


def test_a_sparse_tar_is_refused(tmp_path: Path, refused: Callable[..., str]) -> None:
    info = TarInfo("a")
    info.type = b"S"
    header = bytearray(info.tobuf())
    (tmp_path / "a.tar").write_bytes(header + bytes(1024))
    assert "sparse" in refused(tmp_path / "a.tar")


def test_an_xz_file_that_needs_too_much_memory_is_refused(
    tmp_path: Path, tarred: Callable[..., Path], refused: Callable[..., str]
) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    packed = lzma.compress(tarred(("a", REGTYPE, "", b"x")).read_bytes(), filters=filters)
    (tmp_path / "a.tar.xz").write_bytes(packed)
    assert "Memory usage limit" in refused(tmp_path / "a.tar.xz")


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_an_archive_damaged_anywhere_is_read_or_refused(
    tmp_path: Path, tarred: Callable[..., Path], zipped: Callable[..., Path], ending: str
) -> None:
    """Never anything but a refusal comes of damage, wherever it is."""
    packers: dict[str, Callable[[bytes], bytes]] = {
        "tar": bytes, "tar.gz": gzip.compress, "tar.bz2": bz2.compress, "tar.xz": lzma.compress,
    }  # fmt: skip
    if ending == "zip":
        content = zipped([("a", b"x" * 50), ("b/c", b"y")]).read_bytes()
    else:
        plain = tarred(("a", REGTYPE, "", b"x" * 50), ("b/c", REGTYPE, "", b"y")).read_bytes()
        content = packers[ending](plain[:2560])
    path = tmp_path / f"cut.{ending}"
    step = max(1, len(content) // 150)
    for number, at in enumerate(range(0, len(content), step)):
        changed = bytearray(content)
        changed[at] ^= 0xFF
        for kind, broken in (("cut", content[:at]), ("changed", bytes(changed))):
            into = tmp_path / f"{kind}{number}"
            into.mkdir()
            path.write_bytes(broken)
            try:
                unpack(path, into)
            except Refused:
                continue
            assert set(read_tree(into)) <= {"a", "b/c"} or kind == "changed"


# ---- while it is read ----

SWAPPED = """
import os, pathlib, sys
from deemster.domain.errors import Refused
from deemster.problems.archive import unpack

source, victim, outside, target = map(pathlib.Path, sys.argv[1:])

def swap(event, args):
    # Between the look at it and the opening.
    if event == "open" and args[0] == victim.name and not (source / victim).is_symlink():
        (source / victim).rename(source / "kept")
        (source / victim).symlink_to(outside)

sys.addaudithook(swap)
try:
    unpack(source, target)
except Refused as fault:
    print(fault)
"""


@pytest.mark.parametrize("victim", ["file", "directory", "deep/directory"])
def test_a_file_replaced_by_a_link_while_it_is_read_leads_nowhere(
    tmp_path: Path, target: Path, victim: str
) -> None:
    outside = write_tree(tmp_path / "outside", {"secret": "of the host"})
    is_file = victim == "file"
    source = write_tree(tmp_path / "source", {victim if is_file else f"{victim}/x": "mine"})
    aim = outside / "secret" if is_file else outside
    run = subprocess.run(
        [sys.executable, "-c", SWAPPED, str(source), victim, str(aim), str(target)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (source / victim).is_symlink()
    assert "can't be read" in run.stdout
    assert b"of the host" not in read_tree(target).values()


def test_a_full_disk_is_reported_as_unavailable(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "source", {"a": "x"})
    with pytest.raises(Unavailable, match="DEEMSTER_DATA_DIR"):
        unpack(source, tmp_path / "missing")
