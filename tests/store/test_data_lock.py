"""One process at a time uses a data directory."""

import os
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.store.data_lock import lock_data_dir


def test_a_second_process_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    with lock_data_dir(tmp_path / "data", "`deemster up`"):
        holder = rf"\(`deemster up`, process {os.getpid()}\)"
        with pytest.raises(Refused, match=holder), lock_data_dir(tmp_path / "data", "another"):
            pass
    with lock_data_dir(tmp_path / "data", "another"):
        pass


def test_a_directory_that_can_not_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(Refused, match="--data"), lock_data_dir(tmp_path / "data", "x"):
        pass


def test_o7_a_directory_into_which_everybody_can_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O7: another user could put a secret key of their own into it."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr("os.geteuid", lambda: shared.stat().st_uid + 1)
    with pytest.raises(Refused, match="Every user"), lock_data_dir(shared, "x"):
        pass
