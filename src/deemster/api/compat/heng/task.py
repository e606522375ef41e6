"""A task as heng's clients send it; a field that can't be honoured is refused by its name."""

import platform
from collections.abc import Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic import model_validator as check_after

from deemster.domain.limits import MIB
from deemster.pattern_messages import NO_NUL, text_form

MAX_CASES: Final = 1000
MAX_FILES: Final = 2 * MAX_CASES
MAX_MEMORY_BYTES: Final = 4096 * MIB
MAX_CPU_MS: Final = 60_000
MAX_OUTPUT_BYTES: Final = 256 * MIB
SYSTEM: Final = "Linux"
ARCH: Final = {"aarch64": "arm"}.get(platform.machine(), "x64")

Name = Annotated[str, text_form(NO_NUL, min_length=1, max_length=1000)]
Url = Annotated[
    str, text_form(r"^https?://[!-~]+$", "use an http:// or https:// URL", max_length=2000)
]
HashSum = Annotated[
    str, text_form("^[0-9a-fA-F]{64}$", "use the 64 digits of a SHA-256", to_lower=True)
]
Memory = Annotated[int, Field(ge=MIB, le=MAX_MEMORY_BYTES)]
CpuTime = Annotated[int, Field(ge=1, le=MAX_CPU_MS, alias="cpuTime")]
Output = Annotated[int, Field(ge=1, le=MAX_OUTPUT_BYTES)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DirectFile(Part):
    type: Literal["direct"]
    content: str
    hashsum: HashSum | None = None


class UrlFile(Part):
    type: Literal["url"]
    url: Url
    hashsum: HashSum | None = None


TaskFile = Annotated[DirectFile | UrlFile, Field(discriminator="type")]


def refuse_builtin(kind: str) -> str:
    if kind == "builtin":
        raise ValueError("files of the type builtin are not offered, send the file as remote")
    return kind


class DynamicFile(Part):
    type: Annotated[Literal["remote", "builtin"], AfterValidator(refuse_builtin)]
    name: Name
    file: TaskFile


def check_system(system: str) -> str:
    if system != SYSTEM:
        raise ValueError(f"programs run on {SYSTEM}")
    return system


def check_arch(arch: str) -> str:
    if arch != ARCH:
        raise ValueError(f"programs run on {ARCH}")
    return arch


class Environment(Part):
    language: Name
    system: Annotated[Literal["Windows", "Linux", "Darwin"], AfterValidator(check_system)]
    arch: Annotated[
        Literal["x64", "arm", "risc-v", "powerpc", "mips"], AfterValidator(check_arch)
    ]
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)


class RuntimeLimit(Part):
    memory: Memory
    cpu_time: CpuTime
    output: Output


class CompilerLimit(RuntimeLimit):
    message: Annotated[int, Field(ge=0, le=MAX_OUTPUT_BYTES)]


class Limit(Part):
    runtime: RuntimeLimit
    compiler: CompilerLimit


class Executable(Part):
    source: TaskFile
    environment: Environment
    limit: Limit


class Judge(Part):
    type: Literal["normal", "special", "interactive"]
    user: Executable
    spj: Executable | None = None
    interactor: Executable | None = None

    @check_after(mode="after")
    def _check_programs(self) -> Self:
        if (self.type == "special") != (self.spj is not None):
            raise ValueError("spj belongs to the type special, and to no other")
        if (self.type == "interactive") != (self.interactor is not None):
            raise ValueError("interactor belongs to the type interactive, and to no other")
        return self

    @property
    def jury(self) -> Executable | None:
        return self.spj or self.interactor


class TestCase(Part):
    input: Name
    output: Name


class Test(Part):
    cases: Annotated[tuple[TestCase, ...], Field(min_length=1, max_length=MAX_CASES)]
    policy: Literal["fuse", "all"]


class CallbackUrls(Part):
    update: Url
    finish: Url


class JudgeTask(Part):
    data: TaskFile | None = None
    dynamic_files: Annotated[
        tuple[DynamicFile, ...], Field(max_length=MAX_FILES, alias="dynamicFiles")
    ] = ()
    judge: Judge
    test: Test
    callback_urls: Annotated[CallbackUrls, Field(alias="callbackUrls")]

    @check_after(mode="after")
    def _check_files(self) -> Self:
        dynamic = {each.name for each in self.dynamic_files}
        if len(dynamic) < len(self.dynamic_files):
            raise ValueError("two dynamicFiles have the same name")
        if self.data is None:
            missing = [name for name in self.case_files() if name not in dynamic]
            if missing:
                raise ValueError(
                    f"a case names {missing[0][:80]!r}, but it is not in dynamicFiles, and the "
                    "task has no data"
                )
        return self

    def case_files(self) -> Iterator[str]:
        """The names of all inputs and outputs, in the order of the cases."""
        for case in self.test.cases:
            yield case.input
            yield case.output
