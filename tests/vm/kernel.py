"""Downloads a Debian kernel without installing it, and makes an initramfs for it."""

import lzma
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.vm.cpio import Archive
from tests.vm.host import CACHE, VmError, cache_key, run, say

BOOT = Path(__file__).resolve().parent / "boot"
DRIVERS = ("virtio_pci", "virtio_blk")


@dataclass(frozen=True, slots=True)
class Kernel:
    image: Path
    modules: Path | None
    """lib/modules/VERSION; None when the kernel has all drivers built in."""


def from_package(name: str) -> Kernel:
    """Returns the kernel of a Debian package, which may be a meta package."""
    fields = _describe(name)
    real = re.search(r"\b(linux-image-[0-9][^ ,]*)", fields.get("Depends", ""))
    return _in_tree(unpack(real.group(1) if real else name))


def from_file(path: Path) -> Kernel:
    """Returns the kernel of an image with all drivers built in, or of a Debian package file."""
    if not path.is_file():
        raise VmError(f"the kernel {path} does not exist")
    if path.suffix != ".deb":
        return Kernel(image=path, modules=None)
    return _in_tree(_cached_tree(path.stem, cache_key([path.read_bytes()]), path))


def unpack(package: str) -> Path:
    """Unpacks a Debian package into the cache."""
    fields = _describe(package)
    return _cached_tree(package, cache_key([fields["Version"], fields["SHA256"]]), None)


def initramfs(kernel: Kernel) -> bytes:
    """Packs busybox, the drivers in loading order, and `boot`."""
    archive = Archive()
    for folder in ("bin", "dev", "modules"):
        archive.add_folder(folder)
    archive.add_file("init", BOOT.read_bytes(), executable=True)
    archive.add_file("bin/busybox", _busybox().read_bytes(), executable=True)
    if kernel.modules:
        for number, (name, content) in enumerate(_drivers(kernel.modules)):
            archive.add_file(f"modules/{number:02}-{name}.ko", content)
    return archive.content()


def _describe(package: str) -> dict[str, str]:
    text = run("apt-cache", "show", "--no-all-versions", package)
    return dict(re.findall(r"^([A-Za-z0-9-]+): (.*)$", text, re.MULTILINE))


def _cached_tree(name: str, key: str, archive: Path | None) -> Path:
    tree = CACHE / f"package-{name}-{key}"
    if tree.exists():
        return tree
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        if archive is None:
            say(f"downloading {name}")
            run("apt-get", "-o", "APT::Sandbox::User=root", "download", name, cwd=Path(scratch))
            (archive,) = Path(scratch).glob("*.deb")
        content = Path(scratch) / "content"
        run("dpkg", "-x", archive, content)
        shutil.move(content, tree)
    return tree


def _in_tree(tree: Path) -> Kernel:
    images = list(tree.glob("boot/vmlinuz-*"))
    modules = [*tree.glob("lib/modules/*"), *tree.glob("usr/lib/modules/*")]
    if len(images) != 1 or len(modules) != 1:
        raise VmError(f"{tree.name} does not contain exactly one kernel with its modules")
    return Kernel(image=images[0], modules=modules[0])


def _busybox() -> Path:
    tree = unpack("busybox-static")
    for path in (tree / "bin/busybox", tree / "usr/bin/busybox"):
        if path.exists():
            return path
    raise VmError(f"{tree.name} contains no busybox")


def _drivers(modules: Path) -> Iterator[tuple[str, bytes]]:
    """Yields each driver after its dependencies; built-in drivers need no file."""
    files = {_module_name(path): path for path in modules.rglob("*.ko*")}
    builtin = {
        _module_name(Path(line)) for line in (modules / "modules.builtin").read_text().split()
    }
    done = set(builtin)

    def load(name: str) -> Iterator[tuple[str, bytes]]:
        if name in done:
            return
        done.add(name)
        if name not in files:
            raise VmError(f"the kernel {modules.name} has no driver {name}")
        content = files[name].read_bytes()
        if files[name].suffix == ".xz":
            content = lzma.decompress(content)
        depends = re.search(rb"\0depends=([^\0]*)\0", content)
        for needed in filter(None, depends.group(1).decode().split(",") if depends else []):
            yield from load(needed.replace("-", "_"))
        yield name, content

    for driver in DRIVERS:
        yield from load(driver)


def _module_name(path: Path) -> str:
    return path.name.split(".")[0].replace("-", "_")
