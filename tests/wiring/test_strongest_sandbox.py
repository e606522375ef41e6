"""X8: the sentence for an ordinary user names the one command that gives more."""

from pathlib import Path

import pytest

from deemster.wiring import strongest_sandbox
from deemster.wiring.strongest_sandbox import more_exact


@pytest.mark.parametrize(
    ("controllers", "command"),
    [
        ("cpu memory pids", "systemd-run --user --scope -p Delegate=yes ./dev up"),
        ("cpu pids", "sudo ./dev up"),
        (None, "sudo ./dev up"),
    ],
)
def test_x8_systemd_run_is_named_only_where_it_gives_the_memory_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, controllers: str | None, command: str
) -> None:
    """Debian has no user session in a container, and may give it no memory controller."""
    monkeypatch.setattr(strongest_sandbox, "SYSTEMD", tmp_path)
    monkeypatch.setattr(strongest_sandbox, "USER_CONTROLLERS", f"{tmp_path}/user-{{0}}")
    if controllers is not None:
        (tmp_path / "user-1000").mkdir()
        (tmp_path / "user-1000" / "cgroup.controllers").write_text(f"{controllers}\n")
    assert more_exact(1000) == f"start `{command}` instead."
    monkeypatch.setattr(strongest_sandbox, "SYSTEMD", tmp_path / "missing")
    assert more_exact(1000) == "start `sudo ./dev up` instead."
