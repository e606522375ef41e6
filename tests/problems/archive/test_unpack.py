"""Packages in all kinds of archives give the same files."""

import bz2
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.problems.archive import Unpacked, unpack
from tests.problems.trees import read_tree, write_tree

FILES = {"problem.yaml": b"name: x\n", "data/secret/1.in": b"1" * 3_000_000, "data/e": b""}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "made" / "sum", FILES)
    write_tree(root, {"check/build": "#!/bin/sh\n", "check/run": ""})
    (root / "check" / "build").chmod(0o4711)
    (root / "empty").mkdir()
    return root


def pack_zip(package: Path, path: Path, top: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*")):
            archive.write(file, top + str(file.relative_to(package)))


def pack_tar(squeeze: Callable[[bytes], bytes]) -> Callable[[Path, Path, str], None]:
    def pack(package: Path, path: Path, top: str) -> None:
        with tarfile.open(path, "w") as archive:
            archive.add(package, top or ".")
        path.write_bytes(squeeze(path.read_bytes()))

    return pack


PACKERS = {
    "zip": pack_zip,
    "kpp": pack_zip,
    "tar": pack_tar(bytes),
    "tar.gz": pack_tar(gzip.compress),
    "tar.bz2": pack_tar(bz2.compress),
    "tar.xz": pack_tar(lzma.compress),
}


@pytest.mark.parametrize("top", ["", "sum/"])
@pytest.mark.parametrize("ending", PACKERS)
def test_every_archive_gives_the_same_files(
    package: Path, target: Path, tmp_path: Path, ending: str, top: str
) -> None:
    path = tmp_path / f"given.{ending}"
    PACKERS[ending](package, path, top)
    unpacked = unpack(path, target)
    assert unpacked == Unpacked(target / "sum" if top else target, "sum" if top else "given")
    assert read_tree(unpacked.root) == read_tree(package)
    assert (unpacked.root / "empty").is_dir()


def test_a_directory_is_copied(package: Path, target: Path) -> None:
    assert unpack(package, target) == Unpacked(target, "sum")
    assert read_tree(target) == read_tree(package)
    assert (target / "empty").is_dir()


def test_a_directory_named_by_a_link_or_a_dot_is_copied_under_its_name(
    package: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package)
    assert unpack(Path(), target).name == "sum"


def test_modes_are_plain_and_keep_the_execute_bit(package: Path, target: Path) -> None:
    package.joinpath("problem.yaml").chmod(0o600)
    unpack(package, target)

    def mode(name: str) -> int:
        return stat.S_IMODE((target / name).stat().st_mode)

    assert mode("problem.yaml") == 0o644
    assert mode("check/build") == 0o755
    assert mode("check/run") == 0o644
    assert mode("check") == 0o755


def test_a_zip_without_modes_keeps_scripts_executable(target: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("check/build", "check/run", "check/other"):
            info = zipfile.ZipInfo(name)
            info.create_system = 0
            archive.writestr(info, "x")
        archive.writestr("other", "")
    unpack(tmp_path / "a.zip", target)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in target.rglob("check/*")}
    assert modes == {"build": 0o755, "run": 0o755, "other": 0o644}


def test_the_umask_does_not_change_the_modes(package: Path, target: Path) -> None:
    before = os.umask(0o077)
    try:
        unpack(package, target)
    finally:
        os.umask(before)
    assert stat.S_IMODE((target / "data").stat().st_mode) == 0o755
    assert stat.S_IMODE((target / "data" / "e").stat().st_mode) == 0o644


def test_files_left_by_tools_are_skipped(target: Path, tmp_path: Path) -> None:
    names = [".git/config", "data/.DS_Store", "__MACOSX/._x", "a/__pycache__/x.pyc", "kept"]
    source = write_tree(tmp_path / "source", dict.fromkeys(names, "x"))
    pack_zip(source, tmp_path / "a.zip", "top/")
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("__MACOSX/top/._kept", "x")
    assert unpack(tmp_path / "a.zip", target).root == target / "top"
    assert set(read_tree(target)) == {"top/kept"}
    (tmp_path / "other").mkdir()
    unpack(source, tmp_path / "other")
    assert set(read_tree(tmp_path / "other")) == {"kept"}


def test_names_in_a_zip_are_read_as_utf8_with_and_without_the_flag(
    target: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "flagged.zip", "w") as archive:
        archive.writestr("задача-1", "")
        archive.writestr("a", "")
    unpack(tmp_path / "flagged.zip", target)
    (tmp_path / "plain.zip").write_bytes(rewritten_without_flag("задача-2".encode()))
    (tmp_path / "other").mkdir()
    unpack(tmp_path / "plain.zip", tmp_path / "other")
    assert "задача-1" in read_tree(target)
    assert "задача-2" in read_tree(tmp_path / "other")


def rewritten_without_flag(name: bytes) -> bytes:
    """Two empty entries, as a tool writes them that knows of no flag."""
    plain = b"placeholder-" + b"x" * (len(name) - 12)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(plain.decode(), "")
        archive.writestr("a", "")
    return data.getvalue().replace(plain, name)


def test_names_in_an_old_code_page_are_kept(target: Path, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(rewritten_without_flag(b"\x81ber-den-\x81bungen"))
    unpack(tmp_path / "a.zip", target)
    assert "über-den-übungen" in read_tree(target)


def test_backslashes_of_windows_are_separators(target: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("data\\secret\\1.in", "1")
        archive.writestr("problem.yaml", "")
    unpack(tmp_path / "a.zip", target)
    assert set(read_tree(target)) == {"data/secret/1.in", "problem.yaml"}


def test_names_that_differ_in_case_or_spelling_are_different_files(
    target: Path, tmp_path: Path
) -> None:
    names = {"A.in", "a.in", "e\u0301", "\u00e9", "dot.", "dot", "with space ", "..hidden"}
    source = write_tree(tmp_path / "source", dict.fromkeys(names, "x"))
    unpack(source, target)
    assert set(read_tree(target)) == names


def test_nested_archives_stay_packed(target: Path, tmp_path: Path) -> None:
    source = write_tree(tmp_path / "source", {"inner.zip": b"PK\x03\x04", "a": ""})
    pack_zip(source, tmp_path / "a.zip", "")
    unpack(tmp_path / "a.zip", target)
    assert set(read_tree(target)) == {"inner.zip", "a"}


@pytest.mark.parametrize("content", [b"", b"hello", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"])
def test_an_unknown_file_type_is_refused_with_the_known_ones(
    target: Path, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(Refused, match="use a directory, a zip"):
        unpack(tmp_path / "file", target)


def test_a_missing_file_and_a_device_are_refused(target: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        unpack(tmp_path / "missing", target)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="neither a directory nor a file"):
        unpack(tmp_path / "pipe", target)


def test_zstd_is_refused_with_a_clear_message_if_python_lacks_it(
    target: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 600)
    said = "is damaged" if sys.version_info >= (3, 14) else "gzip or xz"
    with pytest.raises(Refused, match=said):
        unpack(tmp_path / "a.tar.zst", target)


def test_archives_of_the_system_tar_are_read(
    package: Path, target: Path, tmp_path: Path
) -> None:
    deep = write_tree(package / ("d" * 200) / ("e" * 200), {"f" * 200: "x"})
    (deep / "hard").hardlink_to(deep / ("f" * 200))
    for name in ("gnu", "pax", "ustar-ish"):
        kind = {"gnu": "gnu", "pax": "posix", "ustar-ish": "oldgnu"}[name]
        path, into = tmp_path / f"{name}.tgz", tmp_path / name
        into.mkdir()
        subprocess.run(
            ["tar", f"--format={kind}", "-czf", path, "-C", package.parent, "sum"], check=True
        )
        assert read_tree(unpack(path, into).root) == read_tree(package)
