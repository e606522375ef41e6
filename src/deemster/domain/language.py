"""The description of a programming language, as `languages/*.toml` gives it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NewType, Protocol

from deemster.domain.errors import Refused
from deemster.domain.limits import Limits

LanguageId = NewType("LanguageId", str)

NPM_PREFIX = "/usr/local/lib/deemster"
"""Directory of npm's packages, which every sandbox can read."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Permissions:
    """The system calls of one step: a base profile and the language's additions to it."""

    base: str
    allow: frozenset[str] = frozenset()
    errno: Mapping[str, str] = field(default_factory=dict)
    """Calls that a runtime only probes, with the error that they return."""
    own_name: str = ""

    @property
    def profile(self) -> str:
        """Name of the sandbox profile: that of the base if nothing is added."""
        return self.own_name if self.allow or self.errno else self.base


class BoxedStep(Protocol):
    """A step of a language, or an analyser: what its box shows of the host's files."""

    @property
    def shows(self) -> tuple[str, ...]: ...
    @property
    def shows_like(self) -> tuple[LanguageId, ...]: ...


@dataclass(frozen=True, slots=True)
class CompileStep:
    argv: tuple[str, ...]
    output: str
    """File that the compiler leaves in its scratch; empty if it only checks sources."""
    permissions: Permissions
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)
    bytecode: bool = False
    """It may also leave bytecode, with which a waiting interpreter runs the sources."""
    shows: tuple[str, ...] = ()
    """Host paths that its box shows beside its tools; patterns and {TOOL_dir} are allowed."""
    shows_like: tuple[LanguageId, ...] = ()
    """Its box shows also what the steps of these languages name."""


@dataclass(frozen=True, slots=True)
class PrecompileStep:
    """Makes a file once per toolchain that shortens each compilation, such as a header."""

    when: str
    """Only programs that contain this text use the file."""
    files: Mapping[str, bytes]
    """The sources of the file, in {code} and later in {data}."""
    argv: tuple[str, ...]
    output: str
    """Name of the file in the scratch directory, and its path in {data}."""
    use: tuple[str, ...]
    """Compiler arguments that replace {precompiled}."""
    limits: Limits


@dataclass(frozen=True, slots=True)
class EntryRule:
    """Finds the compiled file that starts: it contains these bytes; the main one is first."""

    suffix: str
    contains: tuple[bytes, ...]
    names: tuple[str, ...] = ("{stem}",)
    """Names of the file that belongs to the main source; {Stem} is capitalised."""


@dataclass(frozen=True, slots=True)
class RunStep:
    argv: tuple[str, ...]
    permissions: Permissions
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that tune the runtime, in addition to those of every program."""
    address_space: bool = False
    warm: bool = False
    """A run may get a copy of an interpreter that has already started."""
    extra_memory_bytes: int = 0
    """Memory of the runtime itself, added to the program's limit."""
    extra_cpu_ms: int = 0
    extra_processes: int = 0
    out_of_memory: tuple[str, ...] = ()
    """Texts on stderr by which the runtime reports that memory ran out."""
    entry: EntryRule | None = None
    shows: tuple[str, ...] = ()
    """As that of the compile step."""
    shows_like: tuple[LanguageId, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionQuery:
    argv: tuple[str, ...]
    pattern: str
    text: str
    """The version to show, as a template for `re.Match.expand`."""


@dataclass(frozen=True, slots=True)
class SourceNaming:
    file: str
    """Name of the source file if the user's own name is not accepted."""
    accepts: str
    """Pattern of the names that are accepted from users."""
    named_by: str = ""
    """Pattern that finds the stem that the source demands (Java's public class)."""
    module: str = ""
    """Pattern at the beginning of files that can't start a program (Pascal's units)."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    source: str
    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class Language:
    id: LanguageId
    name: str
    aliases: tuple[str, ...]
    extensions: tuple[str, ...]
    """File extensions that identify this language."""
    packages: tuple[str, ...]
    """Debian packages of the toolchain."""
    lexer: str
    """Name of the Pygments lexer. Programs in languages with the same lexer can be compared."""
    source: SourceNaming
    tools: Mapping[str, tuple[str, ...]]
    """For each tool where to look for it: commands, absolute paths, or patterns of these."""
    version: VersionQuery
    compile: CompileStep | None
    run: RunStep
    template: str
    test: SelfTest
    shows: tuple[str, ...] = ()
    """Host paths that all of its boxes show, as those of its steps."""
    hides: tuple[str, ...] = ()
    """Directories inside of these paths that are empty in its boxes."""
    shared_extensions: tuple[str, ...] = ()
    """Extensions that identify another language unless the user names this one."""
    recognised_by: str = ""
    """Pattern that finds this language in a file with a shared extension."""
    npm: tuple[str, ...] = ()
    """npm packages, each with its exact version."""
    precompile: PrecompileStep | None = None

    def file_name(self, given: str, text: str) -> str:
        """Name under which a source is compiled: as it demands, else the user's, else ours."""
        own = given if re.fullmatch(self.source.accepts, given) else self.source.file
        return self.required_name(text) or own

    def required_name(self, text: str) -> str | None:
        """Name that a source with this text must have; None: the language does not care."""
        found = re.search(self.source.named_by, text) if self.source.named_by else None
        return f"{found[1]}.{extension_of(self.source.file)}" if found else None

    def is_source(self, name: str) -> bool:
        return extension_of(name) in (*self.extensions, *self.shared_extensions)

    def recognises(self, name: str, text: str) -> bool:
        shared = extension_of(name) in self.shared_extensions
        return shared and bool(self.recognised_by and re.search(self.recognised_by, text))

    @property
    def installation(self) -> str:
        """Shell commands that install the toolchain."""
        commands = []
        if self.packages:
            commands.append(f"apt-get install {' '.join(self.packages)}")
        if self.npm:
            commands.append(f"npm install --prefix {NPM_PREFIX} {' '.join(self.npm)}")
        return " && ".join(commands)


class Catalogue:
    """Finds languages by id, alias or file name."""

    def __init__(self, languages: Iterable[Language]) -> None:
        self._languages = tuple(sorted(languages, key=lambda language: language.id))
        self._by_name: dict[str, Language] = {}
        self._by_extension: dict[str, Language] = {}
        for language in self._languages:
            for name in (language.id, *language.aliases):
                self._claim(self._by_name, name, language, "name")
            for extension in language.extensions:
                self._claim(self._by_extension, extension, language, "file extension")

    def __iter__(self) -> Iterator[Language]:
        return iter(self._languages)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._by_name

    def paths_shown(self, step: BoxedStep) -> tuple[str, ...]:
        """The paths that a step names, also by naming other languages."""
        found = dict.fromkeys(step.shows)
        for name in step.shows_like:
            other = self.named(name)
            found |= dict.fromkeys(other.shows)
            for each in (other.compile, other.run):
                if each is not None:
                    found |= dict.fromkeys(self.paths_shown(each))
        return tuple(found)

    def named(self, name: str) -> Language:
        try:
            return self._by_name[name.lower()]
        except KeyError:
            known = ", ".join(language.id for language in self)
            raise Refused(f"There is no language '{name}': use one of {known}.") from None

    def for_file(self, file_name: str, text: str = "") -> Language:
        """The language of a file's extension; the text decides where languages share one."""
        for language in self:
            if language.recognises(file_name, text):
                return language
        extension = extension_of(file_name)
        try:
            return self._by_extension.get(extension) or self._by_extension[extension.lower()]
        except KeyError:
            known = ", ".join(f".{each}" for each in sorted(self._by_extension))
            raise Refused(
                f"The language of '{file_name}' is unknown: name the file with one of {known}, "
                "or name the language (--language)."
            ) from None

    def with_replaced(self, name: str, *, by: str) -> "Catalogue":
        """A catalogue in which one language stands for another one, too."""
        old, new = self.named(name), self.named(by)
        merged = replace(
            new,
            aliases=(*new.aliases, old.id, *old.aliases),
            extensions=(*new.extensions, *old.extensions),
            shared_extensions=tuple(
                each for each in new.shared_extensions if each not in old.extensions
            ),
        )
        others = [each for each in self if each.id not in {old.id, new.id}]
        return Catalogue([*others, merged])

    @staticmethod
    def _claim(taken: dict[str, Language], key: str, language: Language, kind: str) -> None:
        other = taken.setdefault(key, language)
        if other is not language:
            raise Refused(f"Both {other.id} and {language.id} claim the {kind} {key}.")


def extension_of(file_name: str) -> str:
    return file_name.rpartition(".")[2] if "." in file_name else ""


def fill(argv: Iterable[str], values: Mapping[str, str | tuple[str, ...]]) -> tuple[str, ...]:
    """Fills in placeholders; one that is a whole argument may become several."""
    filled: list[str] = []
    for argument in argv:
        whole = PLACEHOLDER.fullmatch(argument)
        value = values[whole[1]] if whole else None
        if isinstance(value, tuple):
            filled.extend(value)
        else:
            filled.append(PLACEHOLDER.sub(lambda match: str(values[match[1]]), argument))
    return tuple(filled)


def placeholders(argv: Iterable[str]) -> frozenset[str]:
    return frozenset(name for argument in argv for name in PLACEHOLDER.findall(argument))
