"""Tests for host_key.py: the only credential of a judge host (M1)."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from deemster.domain.errors import Refused
from deemster.domain.judge_host import HostKey, JudgeHostId
from deemster.judgehost.host_key import read_host_key
from deemster.settings import load_settings
from deemster.wiring.judge_host import run_judge_host

KEY = HostKey(JudgeHostId("hst_1"), bytes(32))


def test_a_key_comes_from_a_private_file_or_a_setting(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY.text + "\n")
    file.chmod(0o600)
    assert read_host_key(None, file) == KEY
    assert read_host_key(KEY.text, None) == KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_m1_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(KEY.text)
    file.chmod(mode)
    with pytest.raises(Refused, match="chmod 600"):
        read_host_key(None, file)


def test_a_missing_key_is_explained(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="deemster host add"):
        read_host_key(None, None)
    with pytest.raises(Refused, match="can't be read"):
        read_host_key(None, tmp_path / "none")


@pytest.mark.parametrize(
    "name", ["database_url", "queue_url", "cache_url", "artifacts_url", "secret_key"]
)
async def test_m1_a_host_with_another_credential_does_not_start(
    tmp_path: Path, name: str
) -> None:
    settings = load_settings(data_dir=tmp_path, **{name: SecretStr("x" * 20)})
    with pytest.raises(Refused, match=name):
        await run_judge_host(settings)


async def test_m1_a_host_does_not_use_the_data_directory_of_a_server(tmp_path: Path) -> None:
    (tmp_path / "secret.key").touch()
    with pytest.raises(Refused, match="DEEMSTER_DATA_DIR"):
        await run_judge_host(load_settings(data_dir=tmp_path))
