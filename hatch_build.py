"""Compiles the sandbox runner and ships it, with the data files, in a platform wheel."""

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RUNNER = "deemster/sandbox/bin/deemster-runner"
SHIPPED = ("analyzers", "languages", "jury", "rubrics", "samples")


class RunnerBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        compiled = compile_runner(root)
        if version == "editable":
            # The package is imported from src/, so the binary has to stand there too.
            place(compiled, root / "src" / RUNNER)
            return
        build_data["force_include"][str(compiled)] = RUNNER
        for name in SHIPPED:
            build_data["force_include"][str(root / name)] = f"deemster/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag()}"


def compile_runner(root: Path) -> Path:
    missing = [tool for tool in ("make", "cc") if shutil.which(tool) is None]
    if missing:
        raise SystemExit(
            f"Building the runner needs {' and '.join(missing)}: "
            "install the packages gcc, make and libc6-dev, then try again."
        )
    subprocess.run(["make", "--silent", "-C", str(root / "runner")], check=True)
    return root / "runner" / "build" / "deemster-runner"


def place(compiled: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # A new file renamed over the old one: a running runner keeps its text, none is "busy".
    fresh = target.with_suffix(".new")
    shutil.copy2(compiled, fresh)
    fresh.replace(target)


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
