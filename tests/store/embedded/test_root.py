"""As root, the server runs as an ordinary user, and only the data directory changes."""

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.store.embedded import running_url
from deemster.store.embedded.programs import installation, libraries, wheel
from tests.services.clusters import place_cluster
from tests.store.embedded.conftest import ask, fast_cluster, new_cluster, supervisor

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="about what root may do")

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
READING_ALL = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""An ordinary user can start this Python with it, whatever its directory."""
WITHOUT_MOUNTS = ("setpriv", "--bounding-set=-sys_admin")

Marks = dict[Path, tuple[int, int, int]]


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that every user may enter, unlike those of pytest."""
    data_dir = Path(tempfile.mkdtemp(prefix="deemster-test-"))
    data_dir.chmod(0o755)
    yield data_dir
    shutil.rmtree(data_dir)


def marks(*paths: Path) -> Marks:
    found = {}
    for path in {parent for each in paths for parent in (each, *each.parents)}:
        seen = path.lstat()
        found[path] = seen.st_mode, seen.st_uid, seen.st_gid
    return found


def copy_wheel(target: Path) -> Path:
    """The same programs in another directory, which Python finds first."""
    shutil.copytree(installation(), target / wheel().name / installation().name, symlinks=True)
    shutil.copytree(libraries(), target / libraries().name)
    (target / wheel().name / "__init__.py").touch()
    return target


async def test_nothing_outside_the_data_directory_changes_its_mode_or_owner(
    tmp_path: Path,
) -> None:
    """DESIGN §2: the wheel's own class would open every directory above data and programs."""
    closed, data = tmp_path / "closed", tmp_path / "closed" / "data"
    closed.mkdir(mode=0o700)
    data.mkdir(mode=0o700)
    elsewhere = copy_wheel(tmp_path / "programs")
    elsewhere.chmod(0o700)
    programs = [elsewhere, *elsewhere.rglob("*"), *wheel().rglob("*"), *libraries().rglob("*")]
    before = marks(data, *programs)
    async with supervisor(data, PYTHONPATH=str(elsewhere)) as running:
        answer = await running.answer()
        assert await ask(answer["url"], "SELECT 1") == 1
        assert owner(int(answer["pid"])) == pwd.getpwuid(
            (data / "postgres/cluster").stat().st_uid
        )
        assert marks(data, *programs) == before
    assert marks(data, *programs) == before


def owner(pid: int) -> pwd.struct_passwd:
    status = Path(f"/proc/{pid}/status").read_text()
    ids = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    assert len(set(ids)) == 1
    assert ids[0] != "0"
    return pwd.getpwuid(int(ids[0]))


async def test_the_server_has_no_groups_and_no_capabilities(tmp_path: Path) -> None:
    place_cluster(tmp_path)
    async with supervisor(tmp_path, before=["setpriv", "--groups=0,4"]) as running:
        status = status_of(int((await running.answer())["pid"]))
        assert status["Groups"] == ""
        assert {int(status[name], 16) for name in ("CapPrm", "CapEff", "CapAmb")} == {0}


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


async def test_the_mounts_of_the_server_are_not_visible_outside(tmp_path: Path) -> None:
    """With shared mounts, as systemd sets them up, they would be visible outside."""
    place_cluster(tmp_path)
    shared = ["unshare", "--mount", "--propagation=shared"]
    async with supervisor(tmp_path, before=shared) as running:
        answer = await running.answer()
        assert " shared:" in mounts(running.process.pid)
        assert "/wheel/programs ro" in mounts(int(answer["pid"]))
        assert "/wheel/programs" not in mounts(running.process.pid)


def mounts(process: int) -> str:
    return Path(f"/proc/{process}/mountinfo").read_text()


async def test_another_user_can_not_connect(public: Path) -> None:
    async with fast_cluster(public) as cluster:
        server = (public / "postgres" / "cluster").stat().st_uid
        for uid in (0, server):
            with acting_as(uid):
                assert running_url(public) == cluster.url
        with acting_as(NOBODY), pytest.raises(Refused, match="another user's"):
            running_url(public)


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_an_ordinary_user_runs_it_and_root_then_runs_it_as_that_user(
    public: Path,
) -> None:
    data, programs = public / "data", copy_wheel(public / "programs")
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    as_nobody = [*AS_NOBODY, *READING_ALL]
    async with supervisor(data, before=as_nobody, PYTHONPATH=str(programs)) as running:
        answer = await running.answer()
        assert owner(int(answer["pid"])).pw_uid == NOBODY
        await ask(answer["url"], "CREATE TABLE kept AS SELECT 42 AS answer")
    async with new_cluster(data) as cluster:
        assert owner(cluster.pid).pw_uid == NOBODY
        assert await ask(cluster.url, "SELECT answer FROM kept") == 42
    async with supervisor(data, before=as_nobody, PYTHONPATH=str(programs)) as running:
        assert "url" in await running.answer()


async def test_without_permission_to_mount_it_runs_in_directories_its_user_can_enter(
    public: Path,
) -> None:
    programs = copy_wheel(public / "programs")
    data, closed = public / "data", public / "closed"
    closed.mkdir(mode=0o700)
    async with supervisor(data, before=WITHOUT_MOUNTS, PYTHONPATH=str(programs)) as running:
        answer = await running.answer()
        assert await ask(answer["url"], "SELECT 1") == 1
    async with supervisor(closed, before=WITHOUT_MOUNTS, PYTHONPATH=str(programs)) as running:
        answer = await running.answer()
    assert answer["code"] == "refused"
    assert f"can't reach {closed}" in answer["message"]
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


async def test_data_below_the_mount_point_is_found(tmp_path: Path) -> None:
    """As on a machine whose big disk is mounted on /mnt."""
    disk = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs disk /mnt && exec "$@"', "sh"]
    async with supervisor(Path("/mnt/big/data"), before=disk) as running:
        assert (await running.answer()).get("version", "").startswith("18.")


async def test_a_missing_system_user_is_created_and_logged(tmp_path: Path) -> None:
    """With a copy of /etc that has neither the user postgres nor deemster."""
    etc, data = tmp_path / "etc", tmp_path / "data"
    copy_etc_without_users(etc)
    other = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc)]
    async with supervisor(data, before=other) as running:
        answer = await running.answer()
    entry = [line for line in (etc / "passwd").read_text().splitlines() if "deemster:" in line]
    _, _, uid, gid, _, _, shell = entry[0].split(":")
    found = (data / "postgres" / "cluster").stat()
    assert (found.st_uid, found.st_gid) == (int(uid), int(gid))
    assert shell == "/usr/sbin/nologin"
    assert "created the system user deemster" in answer["log"]


def copy_etc_without_users(target: Path) -> None:
    shutil.copytree("/etc", target, symlinks=True)
    for name in ("passwd", "shadow", "group", "gshadow"):
        file = target / name
        lines = file.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(("postgres:", "deemster:"))]
        file.write_text("".join(kept))


async def test_a_cluster_that_belongs_to_root_is_refused(tmp_path: Path) -> None:
    async with fast_cluster(tmp_path):
        pass
    os.chown(tmp_path / "postgres" / "cluster", 0, 0)
    with pytest.raises(Refused, match="belongs to root"):
        async with new_cluster(tmp_path):
            pytest.fail("it started")


async def test_another_users_cluster_is_refused(public: Path) -> None:
    async with fast_cluster(public):
        pass
    (public / "postgres").chmod(0o777)
    os.chown(public / "postgres", NOBODY, NOBODY)
    (public / "postgres" / "supervisor.lock").unlink()
    async with supervisor(public, before=[*AS_NOBODY, *READING_ALL]) as running:
        answer = await running.answer()
    assert answer["code"] == "refused"
    assert "start Deemster as that user or as root" in answer["message"]
