"""The files that someone hands in as one program, and which of them starts it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from deemster.domain.errors import Refused
from deemster.domain.language import Language

SOURCE_BYTES = 1 << 20
"""Most bytes of source that a user may submit as one program."""
FILLED_BYTES = 64 << 20
"""Most bytes of that source after the judge has filled in the problem's constants."""
INCLUDED_BYTES = 64 << 20
"""Most bytes of code that a problem may add to a submission."""
MAX_FILES = 256
MAX_PARTS = 8
"""A file's own name and the directories above it."""
MAX_PART_BYTES = 255
MAX_SHOWN = 10

MAIN_STEMS = frozenset({"main", "__main__"})
"""How a file is called, in any case of letters, that starts a program of several."""


@dataclass(frozen=True, slots=True)
class Source:
    files: Mapping[str, bytes]
    """By relative path, with / between directories."""
    main: str | None = None
    """The entry point: a file, or a class where those are started; None leaves it to names."""
    included: frozenset[str] = frozenset()
    """Names of the files that the problem added; `INCLUDED_BYTES` bounds these."""
    most_bytes: int = SOURCE_BYTES
    """Bound on the files that are not included."""

    def __post_init__(self) -> None:
        for name in self.files:
            check_name(name)
        check_directories(self.files)
        own = [name for name in self.files if name not in self.included]
        self._check_bounds(own, self.most_bytes, "The source")
        self._check_bounds(self.included, INCLUDED_BYTES, "The included code")

    def _check_bounds(self, names: Iterable[str], most_bytes: int, what: str) -> None:
        sizes = [len(self.files[name]) for name in names]
        if len(sizes) > MAX_FILES:
            raise Refused(
                f"{what} has {len(sizes):,} files, and may have {MAX_FILES}: join some."
            )
        if sum(sizes) > most_bytes:
            raise Refused(
                f"{what} is larger than the {most_bytes // 1024:,} KiB that a "
                "program may have: make it smaller."
            )


def check_name(name: str) -> None:
    parts = name.split("/")
    plain = name.isprintable() and "\\" not in name
    if not plain or any(part in {"", ".", ".."} for part in parts):
        raise Refused(
            f"A source file can't be called {name[:100]!r}: give it a plain name, "
            "with / between directories if there are any."
        )
    if len(parts) > MAX_PARTS:
        raise Refused(f"{name[:100]!r} lies more than {MAX_PARTS - 1} directories deep.")
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        raise Refused(f"The name {name[:100]!r}… is too long: shorten it.")


def check_directories(names: Iterable[str]) -> None:
    known = set(names)
    for name in known:
        for above in directories_of(name):
            if above in known:
                raise Refused(
                    f"{above!r} can't be a file and a directory ({name!r}): rename one."
                )


def directories_of(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def single_file(language: Language, given_name: str, content: bytes) -> Source:
    """A program of one file, under the name that its language accepts."""
    name = language.file_name(given_name, content.decode(errors="replace"))
    return Source({name: content}, main=name)


def main_file(language: Language, source: Source) -> str | None:
    """The file that starts the program: the one named, else the only one, else `main`."""
    if source.main is not None:
        return source.main if source.main in source.files else None
    if len(source.files) == 1:
        return next(iter(source.files))
    sources = source_files(language, source.files)
    return sources[0] if len(sources) == 1 else find_main(language, sources)


def find_main(language: Language, names: Iterable[str]) -> str | None:
    fitting = [name for name in names if stem_of(name).lower() in MAIN_STEMS]
    usual = language.source.file
    return min(fitting, key=lambda name: (name.count("/"), name != usual, name), default=None)


def source_files(language: Language, names: Iterable[str]) -> list[str]:
    """Those to be compiled or started, not headers and data."""
    return sorted(name for name in names if language.is_source(name))


def stem_of(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0]


def missing_entry_message(language: Language, source: Source) -> str:
    """What to tell the user when there is no `main_file`."""
    sources = source_files(language, source.files)
    if not sources:
        endings = (*language.extensions, *language.shared_extensions)
        shown = ", ".join(f".{extension}" for extension in endings)
        return f"None of the files is {language.name} source: their names end in {shown}."
    shown = ", ".join(sources[:MAX_SHOWN]) + (", …" if len(sources) > MAX_SHOWN else "")
    if source.main is not None:
        return f"The entry point '{source.main}' is not among the files: {shown}."
    return f"It isn't clear which file starts: call one of them main, or name it ({shown})."


def with_guessed_main(language: Language, source: Source) -> Source:
    """By the custom of problem packages the first file starts, by name, where none is `main`.

    For a package's own programs. A contestant is told instead.
    """
    if source.main is not None:
        return source
    sources = source_files(language, source.files)
    return replace(source, main=main_file(language, source) or next(iter(sources), None))


def with_included(
    language: Language, source: Source, files: Mapping[str, bytes], *, entry: str | None = None
) -> Source:
    """With a problem's own files, which win where names clash.

    It starts where the package says (`entry`), else in the problem's own `main`, so that no
    submission goes round a driver, else where the submission does.
    """
    given = set(files)
    above = {directory for name in files for directory in directories_of(name)}
    own = {
        name: content
        for name, content in source.files.items()
        if name not in above and given.isdisjoint(directories_of(name))
    }
    driver = find_main(language, source_files(language, files))
    return Source(
        files={**own, **files},
        main=entry or driver or source.main or main_file(language, source),
        included=(source.included & own.keys()) | given,
        most_bytes=source.most_bytes,
    )


def check_admissible(
    files: Mapping[str, bytes],
    language: Language,
    *,
    most_bytes: int,
    allowed_languages: Iterable[str] | None,
) -> None:
    """Refuses a submission whose source is too large, or in a language the problem forbids.

    The files are those that the user sent, before the judge fills in constants.
    """
    size = sum(map(len, files.values()))
    if size > most_bytes:
        raise Refused(
            f"The source has {size:,} bytes, and this problem takes at most {most_bytes:,}: "
            "shorten it."
        )
    if allowed_languages is None:
        return
    allowed = {name.lower() for name in allowed_languages}
    if allowed.isdisjoint({language.id, *language.aliases}):
        raise Refused(
            f"This problem does not accept {language.name}: use {' or '.join(sorted(allowed))}."
        )
