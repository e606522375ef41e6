"""Makes the machine's disks: the system, the Python environment, the working tree."""

import io
import os
import platform
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.vm.host import (
    CACHE,
    REPOSITORY,
    VmError,
    cache_key,
    discard_others,
    require,
    run,
    say,
)

TOOLS = ("iproute2", "libpam-systemd", "libseccomp2", "make", "procps")
TOOLCHAINS = ("default-jdk-headless", "g++", "gcc", "libc6-dev", "nodejs", "python3")
PACKAGES = TOOLS + TOOLCHAINS
SYSTEM_HOOK = (
    'chroot "$1" useradd --create-home --uid 1000 --shell /bin/sh student'
    ' && mkdir "$1/opt/venv"'
    ' && rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*'
)
VENV = "/opt/venv"
PLATFORM = "x86_64-manylinux_2_36"
LAUNCHER = f"#!/bin/sh\nexec {VENV}/bin/python -m deemster " + '"$@"\n'
# The working tree is on another disk, so the environment only refers to it.
PATHS = "/repo/src\n/vm/site\n"
FIRST_PROGRAM = {False: "/repo/tests/vm/init", True: "/lib/systemd/systemd"}
UNITS = "etc/systemd/system"
BUILT = ("runner/build", "src/deemster/sandbox/bin")


@dataclass(frozen=True, slots=True)
class System:
    image: Path
    python: str
    """Version of its Python, such as "3.11"."""


def system() -> System:
    """Makes the root disk, with packages of the host's Debian release."""
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    key = cache_key([release, *PACKAGES, SYSTEM_HOOK])
    folder = CACHE / f"system-{key}"
    if not folder.exists():
        _build_system(release, folder)
        discard_others(folder, "system-*")
    return System(folder / "disk.img", (folder / "python").read_text())


def venv(lock: Path, python: str) -> Path:
    """Makes a disk with a virtual environment of the locked packages."""
    image = CACHE / f"venv-{cache_key([lock.read_bytes(), python, LAUNCHER, PATHS])}.img"
    if not image.exists():
        say(f"installing {lock.name} for Python {python}")
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            tree = Path(scratch) / "venv"
            _fill_venv(tree, lock, python)
            _make_ext4(tree, image)
        discard_others(image, "venv-*.img")
    return image


def working_tree(
    image: Path, steps: dict[str, str], delegate: str, *, systemd: bool = False
) -> None:
    """Writes a tar archive of the repository as it is now, and of the steps to run."""
    with tarfile.open(image, "w") as archive:
        for path in sorted(set(_repository_files())):
            archive.add(path, f"repo/{path.relative_to(REPOSITORY)}", filter=_owned_by_root)
        for path in REPOSITORY.glob(".venv/lib/python*/site-packages/deemster-*.dist-info"):
            for name in ("METADATA", "entry_points.txt"):
                if (path / name).exists():
                    _add_text(archive, f"vm/site/{path.name}/{name}", (path / name).read_text())
        _add_link(archive, "repo/.venv", VENV)
        _add_link(archive, "vm/first", FIRST_PROGRAM[systemd])
        if systemd:
            service = f"{UNITS}/vm.service"
            _add_link(archive, service, "/repo/tests/vm/vm.service")
            _add_link(archive, f"{UNITS}/multi-user.target.wants/vm.service", f"/{service}")
        _add_text(archive, "vm/delegate", f"{delegate}\n")
        for name, script in steps.items():
            _add_text(archive, f"vm/steps/{name}", f"{script}\n")


def _build_system(release: str, folder: Path) -> None:
    if os.geteuid() != 0:
        raise VmError("only root can make the system disk: run this once with sudo")
    require({"mmdebstrap": "mmdebstrap"})
    say(
        f"installing Debian {release} with {' '.join(PACKAGES)} (takes some minutes, only once)"
    )
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as scratch:
        root = Path(scratch) / "root"
        run(
            # If it is interrupted, the kernel removes its mounts and processes.
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"),
            *(f"--customize-hook={SYSTEM_HOOK}", release, root),
            *_package_sources(),
        )
        say("making the system disk")
        result = Path(scratch) / "result"
        result.mkdir()
        version = (root / "usr/bin/python3").readlink().name.removeprefix("python")
        (result / "python").write_text(version)
        _make_ext4(root, result / "disk.img")
        result.rename(folder)


def _package_sources() -> list[Path]:
    """Returns the files with the host's own package sources."""
    apt = Path("/etc/apt")
    listed = [apt / "sources.list", *sorted(apt.glob("sources.list.d/*"))]
    return [
        path
        for path in listed
        if path.suffix in {".list", ".sources"} and path.exists() and path.read_text().strip()
    ]


def _fill_venv(tree: Path, lock: Path, python: str) -> None:
    packages = tree / "lib" / f"python{python}" / "site-packages"
    packages.mkdir(parents=True)
    run(
        # Copies, because the programs are changed below: links would change uv's cache.
        *(_uv(), "pip", "install", "--quiet", "--no-deps", "--link-mode", "copy"),
        *("--target", packages),
        *("--python-version", python, "--python-platform", PLATFORM),
        *("--require-hashes", "--requirements", lock),
    )
    programs = tree / "bin"
    if (packages / "bin").exists():
        shutil.move(packages / "bin", programs)
    programs.mkdir(exist_ok=True)
    shebang = f"#!{VENV}/bin/python".encode()
    for program in programs.iterdir():
        program.write_bytes(re.sub(rb"\A#!.*python.*", shebang, program.read_bytes()))
    for name in ("python", "python3"):
        (programs / name).symlink_to("/usr/bin/python3")
    (programs / "deemster").write_text(LAUNCHER)
    (programs / "deemster").chmod(0o755)
    (packages / "working_tree.pth").write_text(PATHS)
    (tree / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {python}\n")


def _uv() -> Path:
    """Unlike pip, it also builds packages that have no wheel for the machine's platform."""
    uv = REPOSITORY / ".venv" / "bin" / "uv"
    if not uv.exists():
        raise VmError("the environment .venv is missing: run ./dev setup first")
    return uv


def _make_ext4(tree: Path, image: Path) -> None:
    partial = image.with_suffix(".partial")
    options = ("-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0")
    used_kb = int(run("du", "-sk", tree).split()[0])
    owner = ("-E", "root_owner=0:0,lazy_itable_init=1")
    # Free space to write to; the image is sparse.
    run("mke2fs", *options, *owner, "-d", tree, partial, f"{used_kb * 3 // 2 + 2**20}k")
    partial.rename(image)


def _repository_files() -> Iterator[Path]:
    listed = run(
        *("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), cwd=REPOSITORY
    )
    for name in filter(None, listed.split("\0")):
        path = REPOSITORY / name
        if path.is_symlink() or path.is_file():
            yield path
    for folder in BUILT:
        yield from (path for path in (REPOSITORY / folder).rglob("*") if path.is_file())


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _add_link(archive: tarfile.TarFile, name: str, target: str) -> None:
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, target
    archive.addfile(link)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    member = tarfile.TarInfo(name)
    data = text.encode()
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))
