"""X8: `deemster doctor` tries every sandbox layer, and says how to fix what is missing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deemster.sandbox.checks import suggest_fix

UNSHARE = ("unshare", "--user", "--map-root-user")


def doctor(*prefix: str, **environment: str) -> tuple[int, dict[str, Any]]:
    argv = (*prefix, sys.executable, "-m", "deemster", "doctor", "--json")
    env = {"PATH": "/usr/bin:/bin", "HOME": "/", **environment}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in found["checks"]}


def test_x8_all_required_checks_pass_on_a_machine_that_runs_these_tests() -> None:
    code, found = doctor()
    broken = [check for check in found["checks"] if check["required"] and not check["ok"]]
    assert (code, found["ok"], broken) == (0, True, [])
    assert "all layers together" in by_name(found)
    assert "language c" in by_name(found)


def test_x8_a_missing_runner_makes_every_layer_fail(tmp_path: Path) -> None:
    code, found = doctor(DEEMSTER_RUNNER=str(tmp_path / "none"))
    checks = by_name(found)
    assert (code, found["ok"]) == (1, False)
    assert "DEEMSTER_RUNNER" in checks["runner"]["mend"]
    assert not checks["seccomp filter"]["ok"]


def test_x8_layers_that_are_turned_off_are_listed() -> None:
    code, found = doctor(DEEMSTER_SANDBOX_WITHOUT="net")
    assert code == 0
    assert by_name(found)["layers turned off"]["detail"] == "net"


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_x8_in_a_fresh_user_namespace_the_boxes_have_one_id(tmp_path: Path) -> None:
    _, found = doctor(*UNSHARE)
    checks = by_name(found)
    assert checks["privileges"]["detail"].startswith("one uid")
    assert checks["mount, user and pid namespaces"]["ok"]
    assert checks["seccomp filter"]["ok"]
    (tmp_path / "hello.py").write_text("print('hello')")
    argv = (*UNSHARE, sys.executable, "-m", "deemster", "run", str(tmp_path / "hello.py"))
    env = {"PATH": "/usr/bin:/bin", "DEEMSTER_SANDBOX_WITHOUT": "cgroup", "HOME": str(tmp_path)}
    env |= {
        "DEEMSTER_DATA_DIR": str(tmp_path / "data"),
        "DEEMSTER_WORK_DIR": str(tmp_path / "w"),
    }
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("own-user-namespace", "user namespaces"),
        ("cgroup-memory", "Delegate=yes"),
        ("mount-proc", "systempaths"),
        ("load-notify-filter", "SECCOMP"),
    ],
)
def test_x8_every_kind_of_failure_has_a_suggested_fix(step: str, words: str) -> None:
    assert words in suggest_fix(f"step {step} failed (Operation not permitted)")
