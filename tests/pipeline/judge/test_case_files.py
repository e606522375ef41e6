"""Short files of a problem are read once, and no more of them are kept than fit."""

from pathlib import Path

from deemster.pipeline.judge.case_files import KEPT_BYTES, SHORT_BYTES, CaseFiles


def test_short_files_are_read_once_and_long_ones_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"x" * SHORT_BYTES)
    (tmp_path / "long").write_bytes(b"x" * (SHORT_BYTES + 1))
    files = CaseFiles(tmp_path)
    assert files.short("short") == b"x" * SHORT_BYTES
    assert files.short("long") is None
    assert files.short("missing") is None
    (tmp_path / "short").unlink()
    assert files.short("short") == b"x" * SHORT_BYTES


def test_files_beyond_the_limit_are_read_again(tmp_path: Path) -> None:
    files = CaseFiles(tmp_path)
    names = [str(number) for number in range(KEPT_BYTES // SHORT_BYTES + 2)]
    for name in names:
        (tmp_path / name).write_bytes(b"x" * SHORT_BYTES)
        assert files.short(name) == b"x" * SHORT_BYTES
        (tmp_path / name).unlink()
    kept = [name for name in names if files.short(name) is not None]
    assert kept == names[:-2]
