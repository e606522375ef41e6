"""X11: only the runner is privileged, and mounts only below directories given at its start."""

import json
import os
import pwd
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.errors import Refused
from deemster.privileges.drop import reason_of_failure
from deemster.privileges.mounts import make_reachable
from deemster.privileges.ownership import own_directory
from deemster.privileges.service_user import ServiceUser, find_service_user
from deemster.sandbox.command import Bind, FilesView, Layers
from deemster.sandbox.launcher import LauncherPolicy, check_terminal
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="about what root may do")

NOBODY = ServiceUser("nobody", 65534, 65534)


@pytest.fixture
def root_only(tmp_path: Path) -> Path:
    path = tmp_path / "root-only"
    path.mkdir(mode=0o700)
    (path / "secret").write_text("secret")
    return path


def test_an_unprivileged_process_has_boxes_and_nothing_else_of_root(
    tmp_path: Path, root_only: Path
) -> None:
    seen = run_program("unprivileged_boxes", tmp_path, root_only)
    uid = find_service_user().uid
    assert uid not in {
        0,
        *(each.pw_uid for each in pwd.getpwall() if each.pw_name != "deemster"),
    }
    assert seen["uid"] == [uid] * 3
    assert seen["groups"] == []
    assert seen["code"] == "mine\n"
    assert seen["staged"] == "staged"
    assert "got hello" in seen["terminal"]
    assert seen["cores"] == "0"
    assert seen["restarted"] == "again\n"
    assert seen["without launcher"] == ["sandbox_fault", "again\n"]
    assert "start this command again" in seen["end"]
    assert all("attach-directory" in each for each in seen["refused"]), seen["refused"]
    assert "layers" in seen["fewer layers"]


def run_program(name: str, directory: Path, *arguments: Path) -> Any:
    """Returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"tests.wiring.{name}", *map(str, arguments)],
        env={
            **os.environ,
            "DEEMSTER_DATA_DIR": str(directory / "data"),
            "DEEMSTER_WORK_DIR": str(directory / "work"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_x8_an_ordinary_user_gets_the_strongest_sandbox_and_is_told_how_to_get_more(
    tmp_path: Path,
) -> None:
    seen = run_program("ordinary_user", tmp_path)
    assert seen["without"] == ["cgroup"]
    assert seen["python3"].startswith("CPython"), "`deemster languages` finds what is installed"
    assert re.fullmatch(
        r"Limits of .* less exact .*: start `[^`]*\./dev up` instead\.", seen["weakness"]
    )


def test_boxes_are_built_only_from_directories_of_the_system(tmp_path: Path) -> None:
    """Whatever the service asks for, also by a link that it has made itself."""
    service, system = tmp_path / "service", tmp_path / "system"
    for directory in (service, system):
        directory.mkdir()
    (service / "link").symlink_to("/etc")
    (system / "tool").touch()
    policy = LauncherPolicy(Path("/runner"), Layers.ALL.value, (service,), (system,), 1)
    request = {
        "slots": 1,
        "layers": Layers.ALL.value,
        "cpus": [0],
        "share_cpus": False,
        "low_priority": False,
    }
    allowed = policy.check(request)
    assert (allowed.executable, allowed.below) == (Path("/runner"), (service,))
    for wrong in ({"layers": 0}, {"slots": "many"}, {"cpus": ["a"]}):
        with pytest.raises(ValueError):  # noqa: PT011 - each has another message
            policy.check(request | wrong)

    def check_source(source: Path | str) -> bytes:
        with tempfile.TemporaryFile() as file:
            file.write(FilesView((Bind(Path(source), "/opt/tool"),)).pack())
            file.flush()
            return policy.check_views(file.fileno())

    assert (
        check_source(system / "tool") == FilesView((Bind(system / "tool", "/opt/tool"),)).pack()
    )
    for source in ("/etc", service / "link", service, f"{system}/../service"):
        with pytest.raises(ValueError, match=r"is not in|is in"):
            check_source(source)


def test_only_a_terminal_of_the_service_gets_another_owner(tmp_path: Path) -> None:
    file = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    master, side = os.openpty()
    try:
        check_terminal(side, os.geteuid())
        for descriptor, owner in ((file, 0), (side, NOBODY.uid), (master, 0)):
            with pytest.raises(ValueError, match="terminal"):
                check_terminal(descriptor, owner)
    finally:
        for descriptor in (file, master, side):
            os.close(descriptor)


def test_a_directory_of_root_is_taken_over_with_all_that_is_in_it(tmp_path: Path) -> None:
    data, outside = tmp_path / "data", tmp_path / "outside"
    (data / "postgres" / "cluster").mkdir(parents=True)
    os.chown(data / "postgres" / "cluster", 1, 1)
    for path in (outside, data / "up.lock", data / "postgres" / "cluster" / "PG_VERSION"):
        path.touch()
    (data / "link").symlink_to(outside)
    os.link(outside, data / "second-name")
    data.chmod(0o755)
    own_directory(data, NOBODY)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    ours = [data, *(path for path in data.rglob("*") if path.name != "second-name")]
    assert {path.lstat().st_uid for path in ours} == {NOBODY.uid}
    assert outside.stat().st_uid == 0

    (data / "root-made").touch()
    (data / "others").touch()
    os.chown(data / "others", 1, 1)
    own_directory(data, NOBODY)
    assert (data / "root-made").stat().st_uid == NOBODY.uid
    assert (data / "others").stat().st_uid == 1


def test_a_directory_of_somebody_else_is_not_taken_over(tmp_path: Path) -> None:
    foreign, full, shared = (tmp_path / name for name in ("foreign", "full", "shared"))
    for path in (foreign, full, shared):
        path.mkdir()
    os.chown(foreign, 1, 1)
    (full / "thesis.tex").touch()
    shared.chmod(0o1777)
    for path, message in ((foreign, "another user"), (full, "not empty")):
        with pytest.raises(Refused, match=message):
            own_directory(path, NOBODY)
    own_directory(shared, NOBODY)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert {path.stat().st_uid for path in (full, shared, full / "thesis.tex")} == {0}


def test_directories_below_a_private_one_become_reachable_for_one_process_only(
    root_only: Path,
) -> None:
    needed, hidden = root_only / "a" / "b", root_only / "secret"
    needed.mkdir(parents=True)
    (needed / "file").write_text("text")
    needed.chmod(0o755)
    before = root_only.stat()

    def look() -> None:
        make_reachable([needed, needed / "file"], NOBODY)
        os.setresgid(NOBODY.gid, NOBODY.gid, NOBODY.gid)
        os.setresuid(NOBODY.uid, NOBODY.uid, NOBODY.uid)
        assert (needed / "file").read_text() == "text"
        assert not hidden.exists()

    assert reason_of_failure(look) is None
    assert hidden.exists()
    assert root_only.stat() == before
