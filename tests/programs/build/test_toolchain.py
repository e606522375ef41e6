"""Tests for build/toolchain.py: finding compilers and their versions."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.language import Language
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import (
    RECHECK_LOST_S,
    RECHECK_S,
    Missing,
    Toolchain,
    Toolchains,
    discover,
    newest_first,
)


@pytest.fixture
def tmp_path(shown_directory: Path) -> Path:
    return shown_directory


def language_with(tools: Mapping[str, tuple[str, ...]]) -> Language:
    python = load_catalogue().named("python3")
    argv = ("{interpreter}", "--version")
    version = replace(python.version, argv=argv, pattern=r"v(\d+)", text=r"Tool \1")
    return replace(python, tools=tools, version=version)


def shell_language(tool: Path) -> Language:
    """A language whose tool is a script that starts other commands."""
    language = language_with({"interpreter": (str(tool),)})
    return replace(language, shows=("/usr/bin/cat", "/usr/bin/id", "/usr/bin/sleep"))


def make_tool(path: Path, text: str = "echo v7") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


async def test_a_tool_is_found_behind_links_with_its_version(tmp_path: Path) -> None:
    tool = make_tool(tmp_path / "real" / "tool-7")
    (tmp_path / "link").symlink_to(tool)
    found = await discover(language_with({"interpreter": (str(tmp_path / "link"),)}))
    assert isinstance(found, Toolchain)
    assert found.tools == {"interpreter": str(tool.resolve())}
    assert found.version == "Tool 7"


async def test_a_second_tool_is_found_next_to_the_first(tmp_path: Path) -> None:
    first = make_tool(tmp_path / "jdk" / "first")
    second = make_tool(tmp_path / "jdk" / "second")
    tools = {"interpreter": (str(first),), "other": ("{interpreter_dir}/second",)}
    found = await discover(language_with(tools))
    assert isinstance(found, Toolchain)
    assert found.tools["other"] == str(second.resolve())


async def test_the_newest_of_several_versions_is_used(tmp_path: Path) -> None:
    for version in (8, 21, 17):
        make_tool(tmp_path / f"jdk-{version}" / "java", f"echo v{version}")
    found = await discover(language_with({"interpreter": (f"{tmp_path}/jdk-*/java",)}))
    assert isinstance(found, Toolchain)
    assert found.version == "Tool 21"


def test_numbers_in_names_are_compared_as_numbers() -> None:
    paths = [Path("/jvm/java-8/bin"), Path("/jvm/java-17/bin"), Path("/jvm/java-11/bin")]
    assert newest_first(paths) == [paths[1], paths[2], paths[0]]


async def test_the_callers_path_does_not_choose_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tool(tmp_path / "deemster-no-such-tool")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = await discover(language_with({"interpreter": ("deemster-no-such-tool",)}))
    assert isinstance(found, Missing)


async def test_tools_do_not_get_environment_variables_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEMSTER_LEAK", "7")
    tool = make_tool(tmp_path / "tool", "echo v$DEEMSTER_LEAK")
    found = await discover(language_with({"interpreter": (str(tool),)}))
    assert isinstance(found, Missing)


@pytest.mark.parametrize("text", ["echo v7; exit 1", "echo nothing", "kill -9 $$"])
async def test_a_tool_that_prints_no_version_is_broken(tmp_path: Path, text: str) -> None:
    tool = make_tool(tmp_path / "tool", text)
    found = await discover(language_with({"interpreter": (str(tool),)}))
    assert isinstance(found, Missing)
    assert "printed no version" in found.reason


async def test_a_tool_that_had_no_turn_on_a_busy_machine_is_asked_again(tmp_path: Path) -> None:
    tool = make_tool(tmp_path / "tool", "sleep 0.5; echo v7")
    toolchains = Toolchains(timeout_s=0.1)
    language = shell_language(tool)
    assert (await toolchains.require(language)).version == "Tool 7"


async def test_a_language_whose_tool_never_answers_is_not_refused_for_good(
    tmp_path: Path,
) -> None:
    """Q3: another try, here or on another worker, may find it."""
    tool = make_tool(tmp_path / "tool", "exec sleep 60")
    toolchains = Toolchains(timeout_s=0.1, patient_timeout_s=0.1)
    with pytest.raises(Unavailable, match=r"within 0\.1 s"):
        await toolchains.require(shell_language(tool))


async def test_a_missing_toolchain_is_refused_with_its_package_name() -> None:
    language = language_with({"interpreter": ("deemster-no-such-tool",)})
    with pytest.raises(Refused, match="apt-get install python3"):
        await Toolchains().require(language)


async def test_a_library_is_found_by_its_path_and_a_command_must_be_executable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = make_tool(tmp_path / "tool")
    library = tmp_path / "library.jar"
    library.write_text("")
    tools = {"interpreter": (str(tool),), "library": (str(tmp_path / "*.jar"),)}
    found = await discover(language_with(tools))
    assert isinstance(found, Toolchain)
    assert found.tools["library"] == str(library.resolve())
    monkeypatch.setattr("deemster.programs.build.toolchain.SEARCH_PATH", (str(tmp_path),))
    missing = await discover(language_with({"interpreter": ("library.jar",)}))
    assert isinstance(missing, Missing)


async def test_a_tool_tells_its_version_in_a_box(tmp_path: Path) -> None:
    """X6: it sees neither the host's files nor its users, and can't write anything."""
    stolen = tmp_path / "stolen"
    text = f"echo v$(id -u); [ -e {Path(__file__)} ] && exit 1; (: >{stolen}); exit 0"
    found = await discover(shell_language(make_tool(tmp_path / "tool", text)))
    assert isinstance(found, Toolchain)
    assert found.version == "Tool 1000"
    assert not stolen.exists()


class Machine:
    """A machine whose tools and packages change while they are in use."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.now_s = 0.0
        self.packages = root / "status"
        self.packages.write_text("")
        files = (str(self.packages),)
        monkeypatch.setattr("deemster.programs.build.toolchain.SYSTEM_FILES", files)
        tools = {"interpreter": (f"{root}/tool-*",)}
        self.language = replace(language_with(tools), shows=(f"{root}/library", "/usr/bin/cat"))
        self.toolchains = Toolchains(clock=lambda: self.now_s)

    def install(self, name: str = "tool-1", text: str = "echo v7") -> Path:
        """Replaces the file, as package managers do."""
        return make_tool(self.root / "new", text).rename(self.root / name)

    async def found(self) -> str | None:
        found = await self.toolchains.find(self.language)
        version = found.version if isinstance(found, Toolchain) else None
        assert self.toolchains.versions == ({"python3": version} if version else {})
        return version


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


async def test_the_version_of_a_replaced_tool_is_read_again(machine: Machine) -> None:
    """J6: the recorded version is the one that runs."""
    machine.install()
    assert await machine.found() == "Tool 7"
    machine.install(text="echo v8")
    assert await machine.found() == "Tool 8"


async def test_versions_are_read_again_after_twelve_hours(machine: Machine) -> None:
    """C3: or when the installed packages changed."""
    library = machine.root / "library"
    library.write_text("v7\n")
    machine.install(text=f"cat {library}")
    assert await machine.found() == "Tool 7"
    library.write_text("v8\n")
    machine.now_s += RECHECK_S - 1
    assert await machine.found() == "Tool 7"
    machine.now_s += 1
    assert await machine.found() == "Tool 8"
    library.write_text("v9\n")
    assert await machine.found() == "Tool 8"
    machine.packages.write_text("library is new")
    assert await machine.found() == "Tool 9"


async def test_a_language_that_disappeared_may_come_back(machine: Machine) -> None:
    """Its packages may be in the middle of an upgrade, so the submission is tried again."""
    tool = machine.install()
    await machine.toolchains.require(machine.language)
    tool.unlink()
    with pytest.raises(Unavailable, match="not installed, but it was when the worker started"):
        await machine.toolchains.require(machine.language)
    assert await machine.found() is None
    machine.install(text="echo v8")
    machine.now_s += RECHECK_LOST_S
    assert await machine.found() == "Tool 8"


async def test_a_language_installed_later_needs_a_restart(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    """The running sandboxes don't mount its files; the log says so once."""
    assert await machine.found() is None
    machine.install()
    machine.packages.write_text("tool is new")
    for _ in range(3):
        assert await machine.found() is None
        machine.now_s += RECHECK_LOST_S
    (line,) = caplog.messages
    assert "restart the worker" in line
    with pytest.raises(Refused, match="apt-get install"):
        await machine.toolchains.require(machine.language)


async def test_a_tool_that_needs_other_files_gets_them_in_its_boxes(machine: Machine) -> None:
    """J6: boxes show the files of the version that is recorded, without a restart."""
    old = machine.install()
    assert await machine.found() == "Tool 7"
    new = machine.install("tool-2", "echo v8")
    machine.packages.write_text("tool-2 is new")
    toolchain = await machine.toolchains.require(machine.language)
    assert toolchain.version == "Tool 8"
    shown = {bind.source for bind in toolchain.views.run.binds}
    assert new in shown
    assert old not in shown


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp"])
async def test_x2_a_tool_in_a_directory_that_boxes_have_themselves_is_missing(
    place: str,
) -> None:
    """X2, X8: the boxes of all other languages can be made."""
    with tempfile.TemporaryDirectory(dir=place) as directory:
        tool = make_tool(Path(directory) / "tool")
        found = await discover(language_with({"interpreter": (str(tool),)}))
    assert isinstance(found, Missing)
    assert "printed no version" in found.reason
