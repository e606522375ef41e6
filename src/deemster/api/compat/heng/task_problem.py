"""Stores the data of a task as an unlisted problem, once for all tasks with the same data."""

import asyncio
import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from deemster.api.app_state import AppState
from deemster.api.compat.heng.downloads import Downloads, content_of, known_digest
from deemster.api.compat.heng.languages import language_of, source_name
from deemster.api.compat.heng.task import (
    DirectFile,
    Executable,
    JudgeTask,
    RuntimeLimit,
    TaskFile,
)
from deemster.domain.errors import Refused
from deemster.domain.ids import PROBLEM, ProblemId
from deemster.domain.limits import MIB
from deemster.domain.source import SOURCE_BYTES
from deemster.problems.archive import Bounds
from deemster.problems.archive.unpack import unpack_inner
from deemster.problems.formats.heng import FILE, FILES, HengPackage
from deemster.problems.formats.heng.package import HengCase, JuryProgramFile, RunLimits
from deemster.problems.importing import ImportRequest
from deemster.store import problems
from deemster.store.audit import Actor
from deemster.store.pool import connection

DIGEST_CHARS: Final = 48
DATA: Final = "data"
JURY: Final = "jury"


@dataclass(slots=True)
class TaskProblem:
    """The problem of one task; `stored` returns its id."""

    state: AppState
    actor: Actor
    task: JudgeTask
    downloads: Downloads
    files: dict[str, tuple[TaskFile, str]] = field(init=False)
    """The files that cases and the jury need, with their paths in the request."""
    digests: dict[str, str] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = needed_files(self.task)

    async def stored(self) -> ProblemId:
        for name, (file, where) in self.files.items():
            digest = known_digest(file, where)
            if digest is not None:
                self.digests[name] = digest
        if len(self.digests) == len(self.files) and await self._exists():
            return self.problem_id
        importer = self.state.dependencies.importer
        async with importer.task_directory() as directory:
            for name in [each for each in self.files if each not in self.digests]:
                await self._get(name, directory)
            if await self._exists():
                return self.problem_id
            for name in [each for each in self.files if each not in self.paths]:
                await self._get(name, directory)
            package = directory / self.problem_id.removeprefix(f"{PROBLEM}_")
            await asyncio.to_thread(self._write, directory, package)
            request = ImportRequest(self.actor, self.problem_id, only_own=True, unlisted=True)
            await importer.import_package(package, request)
        self.state.dependencies.accept.forget(self.problem_id)
        return self.problem_id

    @property
    def problem_id(self) -> ProblemId:
        """Derived from the account and the content of all that the problem consists of."""
        jury, dynamic = self.task.judge.jury, self._dynamic()
        parts = {
            "account": self.actor.account,
            "type": self.task.judge.type,
            "policy": self.task.test.policy,
            "limits": self.task.judge.user.limit.runtime.model_dump(),
            "jury": jury and [jury.environment.model_dump(), jury.limit.runtime.model_dump()],
            "files": self.digests,
            "cases": [
                name if name in dynamic else f"{DATA}:{name}" for name in self.task.case_files()
            ],
        }
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return ProblemId(f"{PROBLEM}_heng-{digest[:DIGEST_CHARS]}")

    async def _exists(self) -> bool:
        async with connection(self.state.pool) as acquired:
            found = await problems.get(acquired, self.problem_id)
        # An author could have given this id to a problem with other data.
        return found is not None and found.unlisted and not found.retired

    async def _get(self, name: str, directory: Path) -> None:
        file, where = self.files[name]
        path = directory / f"download-{len(self.paths)}"
        if isinstance(file, DirectFile):
            await asyncio.to_thread(path.write_bytes, content_of(file))
        else:
            max_bytes = self.state.settings.package_mb * MIB
            with path.open("wb") as stream:
                self.digests[name] = await self.downloads.fetch(file, stream, max_bytes, where)
        self.paths[name] = path

    def _dynamic(self) -> dict[str, str]:
        """Names of dynamic files, and their names in `files`."""
        return {each.name: f"dynamic:{each.name}" for each in self.task.dynamic_files}

    def _write(self, directory: Path, package: Path) -> None:
        """Writes the package. Files have the name of their content, so equal ones are one."""
        settings = self.state.settings
        unpacked, files = directory / "unpacked", package / FILES
        files.mkdir(parents=True)
        unpacked.mkdir()
        if DATA in self.paths:
            bounds = Bounds(settings.package_mb * MIB, settings.package_files)
            unpack_inner(self.paths[DATA], unpacked, bounds)
        dynamic = self._dynamic()
        kept: dict[str, str] = {}
        for name in dict.fromkeys(self.task.case_files()):
            path = self.paths[dynamic[name]] if name in dynamic else inside(unpacked, name)
            kept[name] = keep(path, files)
        description = HengPackage(
            type=self.task.judge.type,
            policy=self.task.test.policy,
            cases=tuple(
                HengCase(input=kept[case.input], output=kept[case.output])
                for case in self.task.test.cases
            ),
            limits=run_limits(self.task.judge.user.limit.runtime),
            jury=self._write_jury(files),
        )
        (package / FILE).write_text(description.model_dump_json())

    def _write_jury(self, files: Path) -> JuryProgramFile | None:
        program = self.task.judge.jury
        if program is None:
            return None
        catalogue = self.state.dependencies.catalogue
        language = language_of(catalogue, program, jury_field(self.task))
        content = self.paths[JURY].read_bytes()
        if len(content) > SOURCE_BYTES:
            raise Refused(f"{jury_field(self.task)}.source: it has more than 1 MB.")
        name = source_name(language, program, content)
        shutil.copyfile(self.paths[JURY], files / name)
        limits = run_limits(program.limit.runtime)
        return JuryProgramFile(file=name, language=language.id, limits=limits)


def needed_files(task: JudgeTask) -> dict[str, tuple[TaskFile, str]]:
    named = set(task.case_files())
    found: dict[str, tuple[TaskFile, str]] = {}
    for number, each in enumerate(task.dynamic_files):
        if each.name in named:
            found[f"dynamic:{each.name}"] = each.file, f"dynamicFiles.{number}.file"
    if task.data is not None and named - {each.name for each in task.dynamic_files}:
        found[DATA] = task.data, DATA
    jury: Executable | None = task.judge.jury
    if jury is not None:
        found[JURY] = jury.source, f"{jury_field(task)}.source"
    return found


def jury_field(task: JudgeTask) -> str:
    return "judge.spj" if task.judge.type == "special" else "judge.interactor"


def run_limits(limit: RuntimeLimit) -> RunLimits:
    return RunLimits(
        cpu_ms=limit.cpu_time, memory_bytes=limit.memory, output_bytes=limit.output
    )


def inside(root: Path, name: str) -> Path:
    """A file of the archive `data`."""
    parts = [part for part in PurePosixPath(name).parts if part not in {"/", "."}]
    path = root.joinpath(*parts)
    if not parts or ".." in parts or not path.is_file() or path.is_symlink():
        raise Refused(
            f"test.cases: {name[:80]!r} is neither one of dynamicFiles nor a file in data."
        )
    return path


def keep(path: Path, files: Path) -> str:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if not (files / digest).exists():
        shutil.copyfile(path, files / digest)
    return digest
