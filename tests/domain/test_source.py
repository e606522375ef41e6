"""Source files: allowed names and sizes, the entry point, and included files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deemster.domain.errors import Refused
from deemster.domain.language import Language
from deemster.domain.source import (
    INCLUDED_BYTES,
    MAX_FILES,
    MAX_PARTS,
    SOURCE_BYTES,
    Source,
    main_file,
    missing_entry_message,
    single_file,
    with_guessed_main,
    with_included,
    with_required_names,
)
from deemster.programs.build.languages import load_catalogue

PYTHON = load_catalogue().named("python3")
JAVA = load_catalogue().named("java")
CPP = load_catalogue().named("cpp")

HOSTILE = [
    "../x.c",
    "a/../../x.c",
    "a/./x.c",
    "/etc/passwd",
    "a//b.c",
    "a/",
    "/",
    "",
    ".",
    "..",
    "a\0b",
    "a\nb.c",
    "a\tb.c",
    "a\x7fb.c",
    "a\x9bb.c",
    "a\\b.c",
    "evil\u202ecod.c",
    "zero\u200bwidth.c",
    "line\u2028end.c",
    "lone\ud800surrogate.c",
]


def empty(*names: str, main: str | None = None) -> Source:
    return Source(dict.fromkeys(names, b""), main=main)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_source_file_has_a_plain_name(name: str) -> None:
    """J8: names can't leave the directory or write on a terminal."""
    with pytest.raises(Refused, match="plain relative path"):
        empty(name)


@pytest.mark.parametrize("name", ["pkg/Main.java", "größe.c", "解.py", "a b.c", "-o.c", "@x.c"])
def test_directories_and_unicode_are_allowed(name: str) -> None:
    assert list(empty(name).files) == [name]


@given(st.text(max_size=40))
def test_a_name_is_refused_or_stays_below_the_directory(name: str) -> None:
    """J8: whatever the name is."""
    try:
        empty(name)
    except Refused:
        return
    parts = name.split("/")
    assert not name.startswith("/")
    assert not {"", ".", ".."} & set(parts)
    assert "\0" not in name
    assert name.encode()


def test_directories_are_bounded() -> None:
    empty("/".join("d" * MAX_PARTS))
    with pytest.raises(Refused, match="deep"):
        empty("/".join("d" * (MAX_PARTS + 1)))


def test_a_name_is_bounded_in_bytes() -> None:
    empty("é" * 127)
    with pytest.raises(Refused, match="too long"):
        empty("é" * 128)


def test_a_name_can_not_be_a_file_and_a_directory() -> None:
    with pytest.raises(Refused, match="is a file and also a directory"):
        empty("a/b.py", "a")


def test_the_number_of_files_is_bounded() -> None:
    empty(*(f"{number}.h" for number in range(MAX_FILES)))
    with pytest.raises(Refused, match="join some"):
        empty(*(f"{number}.h" for number in range(MAX_FILES + 1)))


def test_all_files_together_are_bounded() -> None:
    half = b"x" * (SOURCE_BYTES // 2)
    Source({"a.c": half, "b.c": half}, main="a.c")
    with pytest.raises(Refused, match="make it smaller"):
        Source({"a.c": half, "b.c": half, "c.h": b"x"}, main="a.c")


@pytest.mark.parametrize(
    ("language", "source", "main"),
    [
        (PYTHON, empty("solve.py"), "solve.py"),
        (PYTHON, empty("anything"), "anything"),
        (PYTHON, empty("solve.py", "words.txt"), "solve.py"),
        (PYTHON, empty("a.py", "MAIN.py"), "MAIN.py"),
        (PYTHON, empty("__init__.py", "__main__.py"), "__main__.py"),
        (PYTHON, empty("lib/main.py", "main.py", "a.py"), "main.py"),
        (PYTHON, empty("Main.py", "main.py"), "main.py"),
        (PYTHON, empty("main.py", "b.py", main="b.py"), "b.py"),
        (PYTHON, empty("main.txt", "a.py", "b.py"), None),
        (PYTHON, empty("a.py", "b.py"), None),
        (PYTHON, empty("main.py", main="other.py"), None),
        (PYTHON, empty("a.txt", "b.txt"), None),
        (JAVA, empty("pkg/Main.java", "pkg/Other.java"), "pkg/Main.java"),
        (JAVA, empty("pkg/A.java", "pkg/B.java", main="pkg.A"), None),
        (PYTHON, empty(), None),
    ],
)
def test_the_named_file_starts_or_the_only_one_or_the_one_called_main(
    language: Language, source: Source, main: str | None
) -> None:
    assert main_file(language, source) == main


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (empty("b.py", "a.py"), "name one main, or set the entry point (a.py, b.py)"),
        (empty("a.py", "b.py", main="c.py"), "'c.py' is not one of the files: a.py, b.py"),
        (empty("a.txt", "b.txt"), "None of the files is Python 3 source"),
        (empty(*(f"{number:02}.py" for number in range(20))), "09.py, …)"),
    ],
)
def test_an_unclear_entry_point_is_explained(source: Source, said: str) -> None:
    assert said in missing_entry_message(PYTHON, source)


def test_in_a_package_the_first_file_starts_if_none_is_called_main() -> None:
    assert with_guessed_main(PYTHON, empty("b.py", "a.py", "0.txt")).main == "a.py"
    assert with_guessed_main(PYTHON, empty("b.py", "a.py", "main.py")).main == "main.py"
    assert with_guessed_main(PYTHON, empty("b.py", "a.py", main="b.py")).main == "b.py"
    assert with_guessed_main(PYTHON, empty("x", "y")).main is None


@pytest.mark.parametrize(
    ("language", "files", "main"),
    [
        ("pascal", {"a.pas": "unit a; end.", "z.pas": "program z; begin end."}, "z.pas"),
        ("pascal", {"a.pas": "begin end.", "b.pas": "{ old }\nUnit b; end."}, "a.pas"),
        (
            "pascal",
            {"b.pas": "begin end.", "z.pas": "uses\n  math,\n  B;\nend."},
            "z.pas",
        ),
        ("javascript", {"add.js": "", "sum.js": "const a = require('./add.js');"}, "sum.js"),
        ("javascript", {"a.mjs": "", "z.mjs": "import {\n  x\n} from './a.mjs';"}, "z.mjs"),
        ("r", {"helper.R": "", "solve.R": "source('/code/helper.R')"}, "solve.R"),
        ("python3", {"a.py": "", "b.py": "from a import *"}, "b.py"),
        ("python3", {"a.py": "import b", "b.py": "import a"}, "a.py"),
        ("ruby", {"a.rb": "", "b.rb": "require_relative 'a'"}, "b.rb"),
        ("rust", {"a.rs": "", "b.rs": "mod a; fn main() {}"}, "b.rs"),
    ],
)
def test_in_a_package_the_program_starts_and_not_a_module(
    language: str, files: dict[str, str], main: str
) -> None:
    source = Source({name: text.encode() for name, text in files.items()})
    assert with_guessed_main(load_catalogue().named(language), source).main == main


@pytest.mark.parametrize(
    ("files", "main", "renamed", "new_main"),
    [
        ({"a.java": b"public class Main {}"}, "a.java", ["Main.java"], "Main.java"),
        ({"a.java": b"class Main {}"}, "a.java", ["a.java"], "a.java"),
        (
            {"p/x.java": b"package p; public enum Colour {}", "y.java": b"class Y {}"},
            None,
            ["p/Colour.java", "y.java"],
            None,
        ),
        ({"a.java": b"public class A {}"}, "A", ["A.java"], "A"),
        # Neither name can be right: the compiler says so.
        (
            {"a.java": b"public class A {}", "b.java": b"public class A {}"},
            None,
            ["a.java", "b.java"],
            None,
        ),
        ({"data.txt": b"public class Main {}"}, None, ["data.txt"], None),
    ],
)
def test_the_public_class_decides_the_name_of_a_java_file(
    files: dict[str, bytes], main: str | None, renamed: list[str], new_main: str | None
) -> None:
    source = with_required_names(JAVA, Source(files, main=main))
    assert (list(source.files), source.main) == (renamed, new_main)
    assert list(source.files.values()) == list(files.values())
    assert with_required_names(CPP, Source(files, main=main)).files == files


def test_included_files_replace_the_submissions_own() -> None:
    own = Source({"solve.py": b"mine", "grader.py": b"mine", "data": b"", "lib/x.py": b""})
    files = {"grader.py": b"jury", "data/words.txt": b"w", "lib": b"no directory"}
    merged = with_included(PYTHON, own, files)
    assert merged.files == {"solve.py": b"mine", **files}


def test_an_included_driver_starts_whatever_the_submission_names() -> None:
    """Otherwise a contestant could start beside the grader."""
    for source in (
        single_file(PYTHON, "solve.py", b""),
        empty("a.py", "b.py", main="a.py"),
        empty("main.py"),
    ):
        assert with_included(PYTHON, source, {"main.py": b"driver"}).main == "main.py"
    java = with_included(JAVA, empty("Sol.java", main="Sol"), {"Main.java": b""})
    assert java.main == "Main.java"


def test_included_code_without_a_driver_keeps_the_submissions_entry_point() -> None:
    assert with_included(PYTHON, empty("solve.py"), {"lib.py": b""}).main == "solve.py"
    assert with_included(PYTHON, empty("a.py", main="a.py"), {"lib.py": b""}).main == "a.py"
    assert with_included(JAVA, empty("A.java", main="p.A"), {"L.java": b""}).main == "p.A"
    assert with_included(CPP, empty("a.cpp", "b.cpp"), {"grader.cpp": b""}).main is None


def test_the_packages_own_entry_point_comes_first() -> None:
    source = with_included(
        PYTHON, empty("a.py"), {"main.py": b"", "alt.py": b""}, entry="alt.py"
    )
    assert source.main == "alt.py"


def test_included_code_has_bounds_of_its_own() -> None:
    full = Source({"a.cpp": b"x" * SOURCE_BYTES})
    merged = with_included(CPP, full, {"words.txt": b"x" * (SOURCE_BYTES + 1)})
    assert merged.included == {"words.txt"}
    again = with_included(CPP, merged, {"words.txt": b"", "a.cpp": b""})
    assert again.included == {"words.txt", "a.cpp"}
    with pytest.raises(Refused, match="included code is larger"):
        with_included(CPP, full, {"words.txt": b"x" * (INCLUDED_BYTES + 1)})


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"Main.java": "public class " + "\u5b57" * 90}, id="a name of 270 bytes"),
        pytest.param({"a.java": "public class B", "B.java/c.txt": ""}, id="a directory's name"),
        pytest.param(
            {f"{n}.java": "public class " + "\u5b57" * 60 + str(n) for n in range(200)},
            id="names of 37 kB",
        ),
    ],
)
def test_x12_a_source_that_can_not_have_the_required_name_stays(files: dict[str, str]) -> None:
    """The compiler says what is wrong; the job does not fail."""
    source = Source({name: text.encode() for name, text in files.items()})
    assert with_required_names(JAVA, source) is source


@pytest.mark.parametrize(
    ("language", "text"),
    [("pascal", "(**)" * 60 + "x"), ("java", ("public" + "\n" * 39 + "final" + "\n" * 39) * 9)],
)
def test_x12_no_text_makes_the_choice_of_a_file_slow(language: str, text: str) -> None:
    """A pattern that tries all ways to read the comments would block the worker for good."""
    named = load_catalogue().named(language)
    extension = named.extensions[0]
    source = Source({f"a.{extension}": text.encode(), f"b.{extension}": b"x"})
    assert with_required_names(named, source) == source
    assert with_guessed_main(named, source).main == f"a.{extension}"
