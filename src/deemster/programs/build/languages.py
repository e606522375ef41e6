"""Loads the language definitions from their TOML files."""

import errno
import re
import tomllib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    ValidationError,
)

import deemster
from deemster.domain.errors import Refused
from deemster.domain.language import (
    Catalogue,
    CompileStep,
    EntryRule,
    Language,
    LanguageId,
    Permissions,
    PrecompileStep,
    RunStep,
    SelfTest,
    SourceNaming,
    VersionQuery,
    placeholders,
)
from deemster.domain.limits import MIB, Limits
from deemster.pattern_messages import fault_text, text_form

COMPILER_OUTPUT_BYTES = MIB
"""The most that a compiler may print."""
COMPILE_PLACEHOLDERS = frozenset(
    {"code", "source", "sources", "output", "bytecode", "memory_mb", "precompiled"}
)
PRECOMPILE_PLACEHOLDERS = frozenset({"code", "output", "memory_mb"})
RUN_PLACEHOLDERS = frozenset({"code", "entry", "others", "heap_mb", "memory_mb", "stack_mb"})

M = TypeVar("M", bound=BaseModel)
Steps = Mapping[str, tuple[Iterable[str], AbstractSet[str]]]
"""Commands by their key in the file, with the placeholders that each may have."""


def load_catalogue(directory: Path | None = None) -> Catalogue:
    """The languages in a directory; by default those that come with Deemster."""
    return shipped_catalogue() if directory is None else read_catalogue(directory)


@cache
def shipped_catalogue() -> Catalogue:
    """Read once: several parts of a process need it."""
    return read_catalogue(shipped_directory("languages"))


def read_catalogue(directory: Path) -> Catalogue:
    files = sorted(directory.glob("*.toml"))
    if not files:
        raise Refused(f"There is no language file in {directory}: reinstall Deemster.")
    catalogue = Catalogue(load_language(file) for file in files)
    return Catalogue(complete(language, catalogue) for language in catalogue)


def complete(language: Language, catalogue: Catalogue) -> Language:
    """Adds the paths of the languages that a step names to those of the step."""
    run, compiler = language.run, language.compile
    shown = (
        *(*language.shows, *language.hides, *catalogue.paths_shown(run)),
        *(catalogue.paths_shown(compiler) if compiler else ()),
    )
    for name in sorted(placeholders(shown) - {f"{tool}_dir" for tool in language.tools}):
        raise Refused(
            f"The language {language.id} shows a path with {{{name}}}, but has no such tool."
        )
    others = (*run.shows_like, *(compiler.shows_like if compiler else ()))
    hides = (path for name in others for path in catalogue.named(name).hides)
    if compiler is not None:
        compiler = replace(compiler, shows=catalogue.paths_shown(compiler), shows_like=())
    return replace(
        language,
        run=replace(run, shows=catalogue.paths_shown(run), shows_like=()),
        compile=compiler,
        hides=tuple(dict.fromkeys((*language.hides, *hides))),
    )


def shipped_directory(name: str) -> Path:
    """In a wheel inside the package; in an editable install at the top of the repository."""
    package = Path(deemster.__file__).parent
    shipped = package / name
    return shipped if shipped.is_dir() else package.parents[1] / name


def load_language(file: Path) -> Language:
    language = read_toml(file, LanguageFile).to_domain()
    check_placeholders(file, language)
    return language


def read_toml(file: Path, model: type[M]) -> M:
    try:
        return model.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise Refused(f"{file} is not valid TOML: {fault}.") from fault
    except ValidationError as fault:
        raise Refused(f"{file}: {describe(fault)}") from fault


def describe(fault: ValidationError) -> str:
    first = fault.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"the key {key} is unknown: remove it or correct its name."
    return f"the key {key} is invalid: {fault_text(first)}."


def check_placeholders(file: Path, language: Language) -> None:
    run = language.run
    steps: dict[str, tuple[Iterable[str], AbstractSet[str]]] = {
        "version.argv": (language.version.argv, frozenset()),
        "run.argv": (run.argv, RUN_PLACEHOLDERS),
        "run.environment": (run.environment.values(), RUN_PLACEHOLDERS),
    }
    if language.compile:
        steps["compile.argv"] = (language.compile.argv, COMPILE_PLACEHOLDERS)
    if language.precompile:
        steps["precompile.argv"] = (language.precompile.argv, PRECOMPILE_PLACEHOLDERS)
        steps["precompile.use"] = (language.precompile.use, frozenset({"data"}))
    refuse_unknown_placeholders(file, steps, language.tools.keys())


def refuse_unknown_placeholders(file: Path, steps: Steps, tools: AbstractSet[str]) -> None:
    for key, (argv, known) in steps.items():
        for name in sorted(placeholders(argv) - known - tools):
            raise Refused(f"{file}: the key {key} has the unknown placeholder {{{name}}}.")


def is_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as fault:
        raise ValueError(f"not a regular expression, {fault}") from fault
    return text


def is_error_name(text: str) -> str:
    if not hasattr(errno, text):
        raise ValueError(f"{text} is not the name of an errno")
    return text


Name = Annotated[
    str,
    text_form(
        r"^[a-z0-9][a-z0-9+_.#-]*$",
        "use a-z, 0-9 and + _ . # -, and begin with one of a-z, 0-9",
    ),
]
Extension = Annotated[
    str, text_form(r"^[A-Za-z0-9+_]+$", "use letters, digits, + and _, without the dot")
]
NpmPackage = Annotated[
    str,
    text_form(
        r"^(@[a-z0-9._-]+/)?[a-z0-9._-]+@\d+\.\d+\.\d+$",
        "name a package of npm with its version, such as typescript@5.9.3",
    ),
]
Variable = Annotated[
    str, text_form(r"^[A-Z][A-Z0-9_]*$", "name variables with A-Z, 0-9 and _ only")
]
Environment = dict[Variable, str]
Paths = tuple[
    Annotated[
        str,
        text_form(
            r"^(/|\{\w+_dir\}/)", "begin with / or with the directory of a tool, {NAME_dir}/"
        ),
    ],
    ...,
]
Mounts = tuple[
    Annotated[
        str, text_form(r"^\{(scripts|packages)\}/", "begin with {scripts}/ or {packages}/")
    ],
    ...,
]
OUTPUT_NAME = "name one file with letters, digits and . _ -"
Pattern = Annotated[str, AfterValidator(is_pattern)]
Texts = Annotated[tuple[str, ...], Field(min_length=1)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class PermissionsTable(Table):
    allow: frozenset[Name] = frozenset()
    errno: dict[Name, Annotated[str, AfterValidator(is_error_name)]] = {}

    def to_domain(self, own_name: str, base: str) -> Permissions:
        return Permissions(base, self.allow, self.errno, own_name)


class CompileTable(Table):
    argv: Texts
    output: Annotated[str, text_form(r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$", OUTPUT_NAME)] = ""
    bytecode: bool = False
    profile: Literal["program", "compiler"] = "compiler"
    permissions: PermissionsTable = PermissionsTable()
    environment: Environment = {}
    cpu_s: PositiveInt
    memory_mb: PositiveInt
    processes: PositiveInt = 64
    file_mb: PositiveInt = 64
    """The largest file, and also the size of the scratch directory."""
    shows: Paths = ()
    shows_like: tuple[Name, ...] = ()

    def to_domain(self, language: str) -> CompileStep:
        limits = compiler_limits(self.cpu_s, self.memory_mb, self.processes, self.file_mb)
        permissions = self.permissions.to_domain(f"{language}-compile", self.profile)
        return CompileStep(
            argv=self.argv,
            output=self.output,
            permissions=permissions,
            limits=limits,
            environment=self.environment,
            bytecode=self.bytecode,
            shows=self.shows,
            shows_like=tuple(map(LanguageId, self.shows_like)),
        )


class PrecompileTable(Table):
    when: Annotated[str, StringConstraints(min_length=1)]
    files: Annotated[dict[str, str], Field(min_length=1)]
    argv: Texts
    output: Annotated[
        str, text_form(r"^\w[\w.+-]*(/\w[\w.+-]*)*$", "name a file inside the directory")
    ]
    use: Texts
    cpu_s: PositiveInt
    memory_mb: PositiveInt
    processes: PositiveInt = 64
    file_mb: PositiveInt

    def to_domain(self) -> PrecompileStep:
        return PrecompileStep(
            when=self.when,
            files={name: text.encode() for name, text in self.files.items()},
            argv=self.argv,
            output=self.output,
            use=self.use,
            limits=compiler_limits(self.cpu_s, self.memory_mb, self.processes, self.file_mb),
        )


def compiler_limits(cpu_s: int, memory_mb: int, processes: int, file_mb: int) -> Limits:
    return Limits(
        cpu_ms=cpu_s * 1000,
        wall_ms=cpu_s * 3000,
        memory_bytes=memory_mb * MIB,
        processes=processes,
        output_bytes=COMPILER_OUTPUT_BYTES,
        file_bytes=file_mb * MIB,
        scratch_bytes=file_mb * MIB,
    )


class EntryTable(Table):
    suffix: str
    contains: tuple[str, ...]
    names: Texts = ("{stem}",)

    def to_domain(self) -> EntryRule:
        contains = tuple(text.encode() for text in self.contains)
        return EntryRule(self.suffix, contains, self.names)


class RunTable(Table):
    argv: Texts
    profile: Literal["program", "compiler"] = "program"
    permissions: PermissionsTable = PermissionsTable()
    environment: Environment = {}
    address_space: bool = False
    warm: bool = False
    extra_memory_mb: NonNegativeInt = 0
    extra_cpu_ms: NonNegativeInt = 0
    extra_processes: NonNegativeInt = 0
    out_of_memory: tuple[str, ...] = ()
    entry: EntryTable | None = None
    shows: Paths = ()
    shows_like: tuple[Name, ...] = ()

    def to_domain(self, language: str) -> RunStep:
        return RunStep(
            argv=self.argv,
            permissions=self.permissions.to_domain(f"{language}-run", self.profile),
            environment=self.environment,
            address_space=self.address_space,
            warm=self.warm,
            extra_memory_bytes=self.extra_memory_mb * MIB,
            extra_cpu_ms=self.extra_cpu_ms,
            extra_processes=self.extra_processes,
            out_of_memory=self.out_of_memory,
            entry=self.entry.to_domain() if self.entry else None,
            shows=self.shows,
            shows_like=tuple(map(LanguageId, self.shows_like)),
        )


class SourceTable(Table):
    file: str
    accepts: Pattern | None = None
    named_by: Pattern = ""
    module: Pattern = ""

    def to_domain(self, extensions: Iterable[str]) -> SourceNaming:
        ending = "|".join(re.escape(extension) for extension in extensions)
        usual = rf"[A-Za-z0-9_][A-Za-z0-9_.+-]{{0,99}}\.(?:{ending})"
        return SourceNaming(self.file, self.accepts or usual, self.named_by, self.module)


class VersionTable(Table):
    argv: Texts
    pattern: Pattern
    text: str


class TestTable(Table):
    source: str
    stdin: str
    stdout: str


class LanguageFile(Table):
    """One file of `languages/`."""

    id: Name
    name: str
    aliases: tuple[Name, ...] = ()
    extensions: tuple[Extension, ...] = ()
    shared_extensions: tuple[Extension, ...] = ()
    recognised_by: Pattern = ""
    packages: tuple[Name, ...]
    lexer: Name
    npm: tuple[NpmPackage, ...] = ()
    shows: Paths = ()
    hides: Paths = ()
    template: str
    source: SourceTable
    tools: Annotated[dict[str, Texts], Field(min_length=1)]
    version: VersionTable
    compile: CompileTable | None = None
    precompile: PrecompileTable | None = None
    run: RunTable
    test: TestTable

    def to_domain(self) -> Language:
        return Language(
            id=LanguageId(self.id),
            name=self.name,
            aliases=self.aliases,
            extensions=self.extensions,
            packages=self.packages,
            lexer=self.lexer,
            source=self.source.to_domain((*self.extensions, *self.shared_extensions)),
            tools=self.tools,
            version=VersionQuery(self.version.argv, self.version.pattern, self.version.text),
            compile=self.compile.to_domain(self.id) if self.compile else None,
            run=self.run.to_domain(self.id),
            template=self.template.lstrip("\n"),
            test=SelfTest(self.test.source, self.test.stdin, self.test.stdout),
            shows=self.shows,
            hides=self.hides,
            shared_extensions=self.shared_extensions,
            recognised_by=self.recognised_by,
            npm=self.npm,
            precompile=self.precompile.to_domain() if self.precompile else None,
        )
