"""Compiles the runner, bundles the scripts of the pages, and ships both in a platform wheel."""

import hashlib
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RUNNER = "deemster/sandbox/bin/deemster-runner"
ISLANDS = "islands"
BUILT = "src/deemster/web/built"
SHIPPED = ("analyzers", "language_servers", "languages", "jury", "rubrics", "samples")


class RunnerBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        compiled = compile_runner(root)
        try:
            bundle_islands(root)
        except NotBundled as fault:
            # Pages work without scripts, so a contributor without npm can go on.
            if version != "editable":
                raise SystemExit(f"{fault}.") from None
            self.app.display_warning(f"{fault}: the pages stay without scripts.")
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


class NotBundled(Exception):
    """Says why the scripts of the pages could not be bundled."""


def bundle_islands(root: Path) -> None:
    """Does nothing if the built files are those of the sources, as in an sdist."""
    stamp, digest = root / BUILT / "sources.sha256", islands_digest(root)
    if stamp.exists() and stamp.read_text() == digest:
        return
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise NotBundled("Bundling the scripts of the pages needs the packages nodejs and npm")
    islands = root / ISLANDS
    lock, installed = islands / "package-lock.json", islands / "node_modules/installed.json"
    try:
        if not installed.exists() or installed.read_bytes() != lock.read_bytes():
            install = [npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(
                [*install, "--silent"], cwd=islands, stdin=subprocess.DEVNULL, check=True
            )
            shutil.copy(lock, installed)
        subprocess.run([node, "build.mjs"], cwd=islands, check=True)
    except subprocess.CalledProcessError as fault:
        raise NotBundled(f"Bundling the scripts of the pages failed: {fault}") from None
    stamp.write_text(digest)


def islands_digest(root: Path) -> str:
    """Of all sources, and of the versions of what they import."""
    digest = hashlib.sha256()
    for file in sorted((root / ISLANDS).rglob("*")):
        if file.is_file() and "node_modules" not in file.parts:
            digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def place(compiled: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # A new file renamed over the old one: a running runner keeps its text, none is "busy".
    fresh = target.with_suffix(".new")
    shutil.copy2(compiled, fresh)
    fresh.replace(target)


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
