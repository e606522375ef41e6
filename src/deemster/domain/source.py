"""The source files of a program: their bounds, their entry point, and their packed form."""

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.language import Language
from deemster.domain.main_file_guess import files_that_start

SOURCE_BYTES = 1 << 20
"""Most bytes of source that a user may submit as one program."""
FILLED_BYTES = 64 << 20
"""Most bytes of that source after the judge has filled in the problem's constants."""
INCLUDED_BYTES = 64 << 20
"""Most bytes of code that a problem may add to a submission."""
MAX_FILES = 256
MAX_PARTS = 8
"""Most parts of a path: the file's own name and the directories above it."""
MAX_PART_BYTES = 255
NAMES_BYTES = 32 << 10
"""Most bytes of all names of one program: a compiler gets them as arguments."""
MAX_SHOWN = 10

MAIN_STEMS = frozenset({"main", "__main__"})
"""Names without extension, in any case, of the file that starts a program of several."""


@dataclass(frozen=True, slots=True)
class Source:
    files: Mapping[str, bytes]
    """By relative path, with / between directories."""
    main: str | None = None
    """The entry point: a file, or a class in some languages; None: the file names decide."""
    included: frozenset[str] = frozenset()
    """Names of the files that the problem added; `INCLUDED_BYTES` bounds these."""
    max_bytes: int = SOURCE_BYTES
    """Bound on the files that are not included."""

    def __post_init__(self) -> None:
        for name in self.files:
            check_name(name)
        check_directories(self.files)
        own = [name for name in self.files if name not in self.included]
        self._check_bounds(own, self.max_bytes, "The source")
        self._check_bounds(self.included, INCLUDED_BYTES, "The included code")

    def _check_bounds(self, names: Collection[str], max_bytes: int, what: str) -> None:
        sizes = [len(self.files[name]) for name in names]
        if len(sizes) > MAX_FILES:
            raise Refused(
                f"{what} has {len(sizes):,} files; at most {MAX_FILES} are allowed: join some."
            )
        if sum(len(name.encode()) for name in names) > NAMES_BYTES:
            raise Refused(
                f"{what} has names of more than {NAMES_BYTES // 1024} KiB together: "
                "use shorter names."
            )
        if sum(sizes) > max_bytes:
            raise Refused(
                f"{what} is larger than the {max_bytes // 1024:,} KiB that are allowed: "
                "make it smaller."
            )


def check_name(name: str) -> None:
    parts = name.split("/")
    plain = name.isprintable() and "\\" not in name
    if not plain or any(part in {"", ".", ".."} for part in parts):
        raise Refused(
            f"{name[:100]!r} can't be the name of a source file: use a plain relative path, "
            "with / between directories."
        )
    if len(parts) > MAX_PARTS:
        raise Refused(f"{name[:100]!r} is more than {MAX_PARTS - 1} directories deep.")
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        raise Refused(f"The name {name[:100]!r}… is too long: shorten it.")


def check_directories(names: Iterable[str]) -> None:
    known = set(names)
    for name in known:
        for above in directories_of(name):
            if above in known:
                raise Refused(
                    f"{above!r} is a file and also a directory ({name!r}): rename one."
                )


def directories_of(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def single_file(language: Language, given_name: str, content: bytes) -> Source:
    """A program of one file, with a name that its language accepts."""
    name = language.file_name(given_name, content.decode(errors="replace"))
    return Source({name: content}, main=name)


def main_file(language: Language, source: Source) -> str | None:
    """The file that starts the program: `source.main`, else the only one, else `main`."""
    if source.main is not None:
        return source.main if source.main in source.files else None
    if len(source.files) == 1:
        return next(iter(source.files))
    sources = source_files(language, source.files)
    return sources[0] if len(sources) == 1 else find_main(language, sources)


def find_main(language: Language, names: Iterable[str]) -> str | None:
    mains = [name for name in names if stem_of(name).lower() in MAIN_STEMS]
    default = language.source.file
    return min(mains, key=lambda name: (name.count("/"), name != default, name), default=None)


def source_files(language: Language, names: Iterable[str]) -> list[str]:
    """The files to compile or start, without headers and data."""
    return sorted(name for name in names if language.is_source(name))


def stem_of(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0]


def missing_entry_message(language: Language, source: Source) -> str:
    """The message to the user if `main_file` finds none."""
    sources = source_files(language, source.files)
    if not sources:
        endings = (*language.extensions, *language.shared_extensions)
        shown = ", ".join(f".{extension}" for extension in endings)
        return f"None of the files is {language.name} source: use names that end in {shown}."
    shown = ", ".join(sources[:MAX_SHOWN]) + (", …" if len(sources) > MAX_SHOWN else "")
    if source.main is not None:
        return f"The entry point '{source.main}' is not one of the files: {shown}."
    return f"No file is the clear entry point: name one main, or set the entry point ({shown})."


def with_guessed_main(language: Language, source: Source) -> Source:
    """For a package's own programs: if no file is `main`, the first one starts that can."""
    if source.main is not None:
        return source
    sources = source_files(language, source.files)
    main = main_file(language, source)
    if main is None:
        starts = files_that_start(language, {name: source.files[name] for name in sources})
        main = next(iter([*starts, *sources]), None)
    return replace(source, main=main)


def files_beside(files: Mapping[str, bytes], given: Collection[str]) -> dict[str, bytes]:
    """The files that can be in one directory with the given ones, which take precedence."""
    taken = set(given)
    above = {directory for name in given for directory in directories_of(name)}
    return {
        name: content
        for name, content in files.items()
        if name not in taken | above and taken.isdisjoint(directories_of(name))
    }


def with_required_names(language: Language, source: Source) -> Source:
    """Renames files as their texts require: javac accepts a public class in no other file.

    If that is not possible, all names stay, and the compiler says what is wrong: two files
    require the same name or that of a directory, or a name is too long.
    """
    if not language.source.named_by:
        return source
    names = {name: required_path(language, name, source.files[name]) for name in source.files}
    if len(set(names.values())) < len(names):
        return source
    with suppress(Refused):
        return replace(
            source,
            files={names[name]: content for name, content in source.files.items()},
            main=names.get(source.main, source.main) if source.main is not None else None,
            included=frozenset(names[name] for name in source.included),
        )
    return source


def required_path(language: Language, name: str, content: bytes) -> str:
    if not language.is_source(name):
        return name
    required = language.required_name(content.decode(errors="replace"))
    directory, slash, _ = name.rpartition("/")
    return f"{directory}{slash}{required}" if required else name


def with_included(
    language: Language, source: Source, files: Mapping[str, bytes], *, entry: str | None = None
) -> Source:
    """Adds a problem's own files, which replace files of the same name.

    The entry point is `entry`, else the problem's own `main`, so that no submission can
    bypass a driver, else the submission's.
    """
    given = set(files)
    own = files_beside(source.files, given)
    driver = find_main(language, source_files(language, files))
    return Source(
        files={**own, **files},
        main=entry or driver or source.main or main_file(language, source),
        included=(source.included & own.keys()) | given,
        max_bytes=source.max_bytes,
    )


def check_admissible(
    files: Mapping[str, bytes],
    language: Language,
    *,
    max_bytes: int,
    allowed_languages: Iterable[str] | None,
) -> None:
    """Refuses a submission whose source is too large, or in a language the problem forbids.

    The files are those that the user sent, before the judge fills in constants.
    """
    size = sum(map(len, files.values()))
    if size > max_bytes:
        raise Refused(
            f"The source has {size:,} bytes, and this problem takes at most {max_bytes:,}: "
            "shorten it."
        )
    if allowed_languages is None:
        return
    allowed = {name.lower() for name in allowed_languages}
    if allowed.isdisjoint({language.id, *language.aliases}):
        raise Refused(
            f"This problem does not accept {language.name}: use {' or '.join(sorted(allowed))}."
        )


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """One artifact: a line of JSON with names and sizes, then the contents.

    Equal files give equal bytes.
    """
    names = sorted(files)
    index = json.dumps([[name, len(files[name])] for name in names], separators=(",", ":"))
    return index.encode() + b"\n" + b"".join(files[name] for name in names)


def unpack_files(packed: bytes) -> dict[str, bytes]:
    line, _, contents = packed.partition(b"\n")
    files, start = {}, 0
    for name, size in json.loads(line):
        files[name] = contents[start : start + size]
        start += size
    if start != len(contents):
        raise Unavailable("The artifact with a source is damaged: restore it from a backup.")
    return files
