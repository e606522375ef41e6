"""Kept directories come back whole or not at all, whoever is killed or disturbs them."""

import asyncio
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deemster.programs.build.cache import CachedDirectory, DirectoryCache
from tests.waiting import PATIENCE_S, wait_until

MANY = 100_000_000


def opened(root: Path, max_bytes: int = MANY, *, durable: bool = False) -> DirectoryCache:
    cache = DirectoryCache(root, max_bytes, durable=durable)
    cache.open()
    return cache


def fill(place: Path, content: bytes = b"\x7fELF") -> Path:
    (place / "deep" / "er").mkdir(parents=True)
    (place / "program").write_bytes(content)
    (place / "program").chmod(0o700)
    (place / "deep" / "er" / "Ünter$1.class").write_bytes(b"class" + content)
    return place


def keep(cache: DirectoryCache, key: str, directory: Path | None) -> None:
    cache.keep(key, {"entry": key}, directory, threading.Event())


def has(cache: DirectoryCache, key: str) -> bool:
    with taken(cache, key) as entry:
        return entry is not None


@contextmanager
def taken(cache: DirectoryCache, key: str) -> Iterator[CachedDirectory | None]:
    entry = cache.take(key)
    try:
        yield entry
    finally:
        if entry is not None:
            entry.release()


def paths_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return fill(tmp_path / "made")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path)  # some of it is large


def test_a_directory_comes_back_as_it_was_kept(root: Path, made: Path) -> None:
    keep(opened(root), "a", made)
    with taken(opened(root), "a") as entry:
        assert entry is not None
        assert entry.directory is not None
        assert entry.record == {"entry": "a"}
        assert paths_below(entry.directory) == paths_below(made)
        assert (entry.directory / "program").read_bytes() == b"\x7fELF"


def test_nobody_else_enters_and_the_boxs_user_can_read_what_is_attached(
    root: Path, made: Path
) -> None:
    before = os.umask(0o077)
    try:
        keep(opened(root), "a", made)
    finally:
        os.umask(before)
    with taken(opened(root), "a") as entry:
        assert entry is not None
        assert entry.directory is not None
        assert mode_of(root) == 0o700
        assert mode_of(entry.directory) == 0o755
        assert mode_of(entry.directory / "deep" / "er") == 0o755
        assert mode_of(entry.directory / "program") == 0o755
        assert mode_of(entry.directory / "deep" / "er" / "Ünter$1.class") == 0o644


def test_a_record_can_be_kept_without_any_file(root: Path) -> None:
    keep(opened(root), "a", None)
    with taken(opened(root), "a") as entry:
        assert entry is not None
        assert entry.directory is None


def test_what_was_never_kept_is_not_there(root: Path) -> None:
    assert opened(root).take("a") is None


def flip(path: Path) -> None:
    """Changes a byte, and nothing that a listing shows."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_link(path: Path) -> None:
    elsewhere = path.rename(path.parents[4] / "elsewhere")
    path.symlink_to(elsewhere)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "changed": lambda entry: flip(entry / "files" / "program"),
    "cut": lambda entry: os.truncate(entry / "files" / "program", 1),
    "gone": lambda entry: (entry / "files" / "program").unlink(),
    "another mode": lambda entry: (entry / "files" / "program").chmod(0o644),
    "one more file": lambda entry: (entry / "files" / "more").touch(),
    "a link beside": lambda entry: (entry / "files" / "deep" / "link").symlink_to(
        "/etc/passwd"
    ),
    "a link instead": lambda entry: replace_by_link(entry / "files" / "program"),
    "manifest changed": lambda entry: flip(entry / "manifest"),
    "manifest cut": lambda entry: os.truncate(entry / "manifest", 100),
    "manifest empty": lambda entry: os.truncate(entry / "manifest", 0),
    "manifest gone": lambda entry: (entry / "manifest").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_dropped_and_can_be_kept_again(
    root: Path, made: Path, damage: Callable[[Path], object]
) -> None:
    keep(opened(root), "a", made)
    damage(root / "entries" / "a")
    cache = opened(root)
    assert cache.take("a") is None
    assert paths_below(root / "entries") == []
    keep(cache, "a", made)
    assert has(cache, "a")


def test_an_entry_written_again_after_it_was_found_good_is_read_again(
    root: Path, made: Path
) -> None:
    cache = opened(root)
    keep(cache, "a", made)
    assert has(cache, "a")
    program = root / "entries" / "a" / "files" / "program"
    program.write_bytes(b"\x7fELG")
    assert cache.take("a") is None


def test_a_durable_entry_is_trusted_by_size_and_time(root: Path, made: Path) -> None:
    keep(opened(root, durable=True), "a", made)
    cache = opened(root, durable=True)
    assert has(cache, "a")
    (root / "entries" / "a" / "files" / "program").touch()
    assert cache.take("a") is None


def test_the_first_entry_of_a_key_stays(root: Path, made: Path, tmp_path: Path) -> None:
    cache = opened(root)
    keep(cache, "a", made)
    keep(cache, "a", fill(tmp_path / "other", b"later"))
    with taken(cache, "a") as entry:
        assert entry is not None
        assert entry.directory is not None
        assert (entry.directory / "program").read_bytes() == b"\x7fELF"
    assert paths_below(root / "filling") == []


def test_an_abandoned_entry_is_not_kept(root: Path, made: Path) -> None:
    """A cancelled build takes its files away while they are being copied."""
    cache = opened(root)
    abandoned = threading.Event()
    abandoned.set()
    cache.keep("a", {}, made, abandoned)
    assert cache.take("a") is None
    assert paths_below(root / "filling") == []


def test_names_that_are_not_unicode_are_not_kept(root: Path, made: Path) -> None:
    (made / os.fsdecode(b"\xff\xfe")).touch()
    cache = opened(root)
    keep(cache, "a", made)
    assert cache.take("a") is None
    assert paths_below(root / "filling") == []


def test_a_failed_write_raises_and_leaves_no_files(root: Path, made: Path) -> None:
    (made / "program").write_bytes(bytes(200_000))
    cache = opened(root)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            keep(cache, "a", made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert cache.take("a") is None
    assert paths_below(root / "filling") == []


# -- the bound --


def sized(place: Path, size: int) -> Path:
    place.mkdir()
    head = os.urandom(min(size, 1024))
    (place / "program").write_bytes(head + bytes(size - len(head)))
    return place


def test_the_least_recently_used_entry_is_evicted(root: Path, tmp_path: Path) -> None:
    cache = opened(root, max_bytes=1_000_000)
    for key in "abc":
        keep(cache, key, sized(tmp_path / key, 250_000))
    for age, key in enumerate("cab"):
        os.utime(root / "entries" / key, (1_000 + age, 1_000 + age))
    assert has(cache, "c")  # used just now
    keep(cache, "d", sized(tmp_path / "d", 250_000))
    assert {key for key in "abcd" if has(cache, key)} == {"b", "c", "d"}


def test_an_entry_in_use_is_never_evicted(root: Path, tmp_path: Path) -> None:
    cache = opened(root, max_bytes=500_000)
    keep(cache, "a", sized(tmp_path / "a", 250_000))
    with taken(cache, "a") as entry:
        assert entry is not None
        assert entry.directory is not None
        for key in "bcde":
            keep(opened(root, max_bytes=500_000), key, sized(tmp_path / key, 250_000))
        assert (entry.directory / "program").stat().st_size == 250_000
        assert not cache.drop("a")
    assert cache.drop("a")


def test_an_entry_that_another_process_uses_is_never_evicted(
    root: Path, tmp_path: Path
) -> None:
    cache = opened(root, max_bytes=500_000)
    keep(cache, "a", sized(tmp_path / "a", 250_000))
    code = (
        "import sys, pathlib\n"
        "from deemster.programs.build.cache import DirectoryCache\n"
        "entry = DirectoryCache(pathlib.Path(sys.argv[1]), 500_000).take('a')\n"
        "print(entry is not None, flush=True)\n"
        "sys.stdin.read()\n"
        "print(entry.directory.joinpath('program').stat().st_size)\n"
    )
    with python(code, root) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"True\n"
        for key in "bcde":
            keep(cache, key, sized(tmp_path / key, 250_000))
        said, _ = user.communicate(timeout=PATIENCE_S)
        assert said == b"250000\n"


def test_an_entry_larger_than_the_cache_is_not_kept(root: Path, tmp_path: Path) -> None:
    cache = opened(root, max_bytes=500_000)
    keep(cache, "small", sized(tmp_path / "small", 100_000))
    keep(cache, "a", sized(tmp_path / "a", 600_000))
    assert cache.take("a") is None
    assert has(cache, "small")


@pytest.mark.parametrize("written", [b"", b"nonsense", b"-5"])
def test_a_damaged_size_file_is_recounted(root: Path, tmp_path: Path, written: bytes) -> None:
    cache = opened(root, max_bytes=1_000_000)
    for key in "abc":
        keep(cache, key, sized(tmp_path / key, 250_000))
    (root / "bytes").write_bytes(written)
    keep(cache, "d", sized(tmp_path / "d", 250_000))
    assert len(list((root / "entries").iterdir())) == 3


def test_small_entries_are_bounded_by_their_size_on_disk(root: Path) -> None:
    cache = opened(root, max_bytes=200_000)
    for number in range(100):
        keep(cache, str(number), None)
    assert len(list((root / "entries").iterdir())) < 50


# -- other processes, and their deaths --


@contextmanager
def python(code: str, *arguments: Path | str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


FILL = (
    "import sys, pathlib, threading\n"
    "from deemster.programs.build.cache import DirectoryCache\n"
    "cache = DirectoryCache(pathlib.Path(sys.argv[1]), 10**9)\n"
    "cache.open()\n"
    "print('open', flush=True)\n"
    "cache.keep('a', {}, pathlib.Path(sys.argv[2]), threading.Event())\n"
    "print('kept', flush=True)\n"
    "sys.stdin.read()\n"
)


def test_a_killed_fill_leaves_no_entry(root: Path, tmp_path: Path) -> None:
    made = sized(tmp_path / "made", 200_000_000)
    with python(FILL, root, made) as filler:
        assert filler.stdout is not None
        assert filler.stdout.readline() == b"open\n"
        wait_until(lambda: any((root / "filling").glob("*/files/program")))
        filler.send_signal(signal.SIGKILL)
        assert filler.wait(PATIENCE_S) == -signal.SIGKILL
    assert paths_below(root / "entries") == []
    assert paths_below(root / "filling") != []
    cache = opened(root)
    assert paths_below(root / "filling") == []
    assert cache.take("a") is None


def test_opening_does_not_remove_an_entry_that_another_process_is_filling(
    root: Path, tmp_path: Path
) -> None:
    made = sized(tmp_path / "made", 200_000_000)
    with python(FILL, root, made) as filler:
        assert filler.stdout is not None
        assert filler.stdout.readline() == b"open\n"
        wait_until(lambda: any((root / "filling").glob("*/files/program")))
        opened(root)
        assert filler.stdout.readline() == b"kept\n"
    assert has(opened(root), "a")


HAMMER = (
    "import sys, pathlib, random, threading\n"
    "from deemster.programs.build.cache import DirectoryCache\n"
    "cache = DirectoryCache(pathlib.Path(sys.argv[1]), 300_000)\n"
    "cache.open()\n"
    "chance, seen = random.Random(sys.argv[3]), 0\n"
    "for _ in range(600):\n"
    "    key = chance.choice('abcdefgh')\n"
    "    entry = cache.take(key)\n"
    "    if entry is None:\n"
    "        made = pathlib.Path(sys.argv[2], key)\n"
    "        cache.keep(key, {'key': key}, made, threading.Event())\n"
    "        continue\n"
    "    seen += 1\n"
    "    content = entry.directory.joinpath('program').read_bytes()\n"
    "    assert content == key.encode() * 50_000, key\n"
    "    assert entry.record == {'key': key}, key\n"
    "    entry.release()\n"
    "print(seen)\n"
)


def test_processes_that_fill_use_and_evict_never_see_a_broken_entry(
    root: Path, tmp_path: Path
) -> None:
    """Eight keys of which about five fit, so that entries come and go all the time."""
    for key in "abcdefgh":
        (tmp_path / key).mkdir()
        (tmp_path / key / "program").write_bytes(key.encode() * 50_000)
    with (
        python(HAMMER, root, tmp_path, "1") as one,
        python(HAMMER, root, tmp_path, "2") as two,
        python(HAMMER, root, tmp_path, "3") as three,
    ):
        for process in (one, two, three):
            said, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
            assert int(said) > 0
    assert paths_below(root / "filling") == []


async def test_threads_of_one_process_share_it_too(root: Path, tmp_path: Path) -> None:
    cache = opened(root, max_bytes=300_000)
    for key in "abcdefgh":
        (tmp_path / key).mkdir()
        (tmp_path / key / "program").write_bytes(key.encode() * 50_000)

    def use(key: str) -> bool:
        with taken(cache, key) as entry:
            if entry is None:
                keep(cache, key, tmp_path / key)
                return False
            assert entry.directory is not None
            return (entry.directory / "program").read_bytes() == key.encode() * 50_000

    async with asyncio.TaskGroup() as group:
        uses = [
            group.create_task(asyncio.to_thread(use, "abcdefgh"[number % 8]))
            for number in range(400)
        ]
    assert any(each.result() for each in uses)
