"""What Deemster knows of a programming language: data from `languages/*.toml`, never code."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NewType

from deemster.domain.errors import Refused
from deemster.domain.limits import Limits

LanguageId = NewType("LanguageId", str)

NPM_PREFIX = "/usr/local/lib/deemster"
"""Where npm's packages lie: in a directory that every box shows."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Permissions:
    """The system calls of one step: a base profile and what the language needs beside it."""

    base: str
    allow: frozenset[str] = frozenset()
    errno: Mapping[str, str] = field(default_factory=dict)
    """Calls that a runtime only probes, with the error it is answered."""
    own_name: str = ""

    @property
    def profile(self) -> str:
        """The name of the sandbox profile: the base itself when nothing is added to it."""
        return self.own_name if self.allow or self.errno else self.base


@dataclass(frozen=True, slots=True)
class CompileStep:
    argv: tuple[str, ...]
    output: str
    """What the compiler leaves in its scratch; nothing where it only checks the sources."""
    permissions: Permissions
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PrecompileStep:
    """What is made once for a toolchain, so that each of its compiles is shorter."""

    when: str
    """Only a program that holds this text has use for it."""
    files: Mapping[str, bytes]
    """What it is made from, in {code}; they lie in {data} too."""
    argv: tuple[str, ...]
    output: str
    """The file that this leaves: by its own name in the scratch, by its path in {data}."""
    use: tuple[str, ...]
    """The arguments that {precompiled} stands for in the compiler's."""
    limits: Limits


@dataclass(frozen=True, slots=True)
class EntryRule:
    """Which compiled file starts: one that holds these bytes, the main source's own first."""

    suffix: str
    contains: tuple[bytes, ...]
    names: tuple[str, ...] = ("{stem}",)
    """What the main source's own is called; {Stem} is the stem with a capital."""


@dataclass(frozen=True, slots=True)
class RunStep:
    argv: tuple[str, ...]
    permissions: Permissions
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside those that every program has, for runtimes that are tuned by them."""
    address_space: bool = False
    extra_memory_bytes: int = 0
    """What the runtime itself needs beside the program's limit."""
    extra_cpu_ms: int = 0
    extra_processes: int = 0
    out_of_memory: tuple[str, ...] = ()
    """What the runtime says on stderr when it gets no more memory."""
    entry: EntryRule | None = None


@dataclass(frozen=True, slots=True)
class VersionQuery:
    argv: tuple[str, ...]
    pattern: str
    text: str
    """How the match is shown, as an expansion template of `re`."""


@dataclass(frozen=True, slots=True)
class SourceNaming:
    file: str
    """The name of the source file when the user's own name won't do."""
    accepts: str
    """Names of the user that are kept."""
    named_by: str = ""
    """Finds the stem that the source itself demands (Java's public class)."""


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
    """Those by which a file is taken for this language."""
    packages: tuple[str, ...]
    """The Debian packages that bring the toolchain."""
    source: SourceNaming
    tools: Mapping[str, tuple[str, ...]]
    """For each tool the places to look in: commands, absolute paths, or patterns of these."""
    version: VersionQuery
    compile: CompileStep | None
    run: RunStep
    template: str
    test: SelfTest
    binds: tuple[str, ...] = ()
    """Host paths beyond the base system, shown read-only in the box; patterns are allowed."""
    shared_extensions: tuple[str, ...] = ()
    """Those of its files that are taken for another language unless this one is named."""
    recognised_by: str = ""
    """Finds in a file with a shared extension that it is of this language after all."""
    npm: tuple[str, ...] = ()
    """What npm brings besides, each with its exact version."""
    precompile: PrecompileStep | None = None

    def file_name(self, given: str, text: str) -> str:
        """The name a source is compiled by: what it demands, else the user's, else ours."""
        demanded = re.search(self.source.named_by, text) if self.source.named_by else None
        if demanded:
            return f"{demanded[1]}.{self.source.file.rpartition('.')[2]}"
        return given if re.fullmatch(self.source.accepts, given) else self.source.file

    def is_source(self, name: str) -> bool:
        return extension_of(name) in (*self.extensions, *self.shared_extensions)

    def recognises(self, name: str, text: str) -> bool:
        shared = extension_of(name) in self.shared_extensions
        return shared and bool(self.recognised_by and re.search(self.recognised_by, text))

    @property
    def installation(self) -> str:
        """The commands that bring the toolchain."""
        commands = []
        if self.packages:
            commands.append(f"apt-get install {' '.join(self.packages)}")
        if self.npm:
            commands.append(f"npm install --prefix {NPM_PREFIX} {' '.join(self.npm)}")
        return " && ".join(commands)


class Catalogue:
    """All languages, found by id, alias or file name."""

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

    def named(self, name: str) -> Language:
        try:
            return self._by_name[name.lower()]
        except KeyError:
            known = ", ".join(language.id for language in self)
            raise Refused(f"No language is called '{name}'; choose one of: {known}.") from None

    def for_file(self, file_name: str, text: str = "") -> Language:
        """By the file's extension; its text decides where languages share one."""
        for language in self:
            if language.recognises(file_name, text):
                return language
        extension = extension_of(file_name)
        try:
            return self._by_extension.get(extension) or self._by_extension[extension.lower()]
        except KeyError:
            known = ", ".join(f".{each}" for each in sorted(self._by_extension))
            raise Refused(
                f"The name '{file_name}' doesn't tell its language: use one of {known}, "
                "or say which language it is (--language)."
            ) from None

    @staticmethod
    def _claim(taken: dict[str, Language], key: str, language: Language, kind: str) -> None:
        other = taken.setdefault(key, language)
        if other is not language:
            raise Refused(f"Both {other.id} and {language.id} claim the {kind} {key}.")


def extension_of(file_name: str) -> str:
    return file_name.rpartition(".")[2] if "." in file_name else ""


def fill(argv: Iterable[str], values: Mapping[str, str | tuple[str, ...]]) -> tuple[str, ...]:
    """An argument vector with its placeholders filled; a list, standing alone, spreads out."""
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
