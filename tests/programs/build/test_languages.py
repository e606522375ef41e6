"""Tests for build/languages.py: the shipped language files, and errors in broken ones."""

import json
import re
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.programs.build.languages import (
    load_catalogue,
    load_language,
    shipped_directory,
)
from deemster.sandbox.launched_runner import SYSTEM_DIRECTORIES

C_FILE = (shipped_directory("languages") / "c.toml").read_text()

NAMES = {
    "problem package format": {
        "ada": "ada",
        "bash": "bash",
        "c": "c",
        "cobol": "cobol",
        "cpp": "cpp",
        "csharp": "csharp",
        "d": "d",
        "fortran": "fortran",
        "go": "go",
        "haskell": "haskell",
        "java": "java",
        "javascript": "javascript",
        "kotlin": "kotlin",
        "lisp": "lisp",
        "lua": "lua",
        "nim": "nim",
        "objectivec": "objectivec",
        "ocaml": "ocaml",
        "pascal": "pascal",
        "perl": "perl",
        "php": "php",
        "prolog": "prolog",
        "python3": "python3",
        "ruby": "ruby",
        "rust": "rust",
        "scala": "scala",
        "typescript": "typescript",
    },
    "DOMjudge": {
        "adb": "ada",
        "awk": "awk",
        "csharp": "csharp",
        "f95": "fortran",
        "hs": "haskell",
        "js": "javascript",
        "kt": "kotlin",
        "pas": "pascal",
        "pl": "perl",
        "plg": "prolog",
        "py3": "python3",
        "rb": "ruby",
        "rs": "rust",
        "sh": "bash",
    },
    "DMOJ": {
        "ADA": "ada",
        "AWK": "awk",
        "C": "c",
        "C11": "c",
        "CBL": "cobol",
        "CLANGX": "cpp17",
        "CPP03": "cpp17",
        "CPP11": "cpp17",
        "CPP14": "cpp17",
        "CPP17": "cpp17",
        "CPP20": "cpp",
        "CPP23": "cpp23",
        "D": "d",
        "F95": "fortran",
        "GAS64": "gas",
        "GO": "go",
        "HASK": "haskell",
        "JAVA": "java",
        "JAVA8": "java",
        "JAVA17": "java",
        "KOTLIN": "kotlin",
        "LUA": "lua",
        "MONOCS": "csharp",
        "NASM64": "nasm",
        "NODEJS": "javascript",
        "OBJC": "objectivec",
        "OCAML": "ocaml",
        "PAS": "pascal",
        "PERL": "perl",
        "PHP": "php",
        "PRO": "prolog",
        "PY3": "python3",
        "PYPY3": "pypy3",
        "RUBY2": "ruby",
        "RUST": "rust",
        "SBCL": "lisp",
        "SCALA": "scala",
        "TCL": "tcl",
        "TEXT": "text",
        "V8JS": "javascript",
    },
    "Hydro": {
        "bash": "bash",
        "c": "c",
        "cc": "cpp",
        "cc.cc98": "cpp17",
        "cc.cc11o2": "cpp17",
        "cc.cc14": "cpp17",
        "cc.cc17": "cpp17",
        "cc.cc17o2": "cpp17",
        "cc.cc20o2": "cpp",
        "cs": "csharp",
        "hs": "haskell",
        "js": "javascript",
        "kt": "kotlin",
        "kt.jvm": "kotlin",
        "pas": "pascal",
        "py": "python3",
        "py.py3": "python3",
        "py.pypy3": "pypy3",
        "r": "r",
        "rb": "ruby",
        "rs": "rust",
    },
    "Polygon": {
        "c.gcc": "c",
        "cpp.g++": "cpp17",
        "cpp.g++17": "cpp17",
        "cpp.ms2017": "cpp17",
        "cpp.msys2-mingw64-9-g++17": "cpp17",
        "cpp.gcc11-64-winlibs-g++20": "cpp",
        "cpp.gcc13-64-winlibs-g++20": "cpp",
        "cpp.gcc14-64-msys2-g++23": "cpp23",
        "csharp.mono": "csharp",
        "d": "d",
        "go": "go",
        "haskell.ghc": "haskell",
        "java8": "java",
        "java11": "java",
        "java21": "java",
        "kotlin16": "kotlin",
        "kotlin19": "kotlin",
        "ocaml": "ocaml",
        "pas.dpr": "pascal",
        "pas.fpc": "pascal",
        "perl.5": "perl",
        "php.5": "php",
        "python.3": "python3",
        "python.pypy3": "pypy3",
        "python.pypy3-64": "pypy3",
        "ruby.3": "ruby",
        "rust": "rust",
        "rust.2021": "rust",
        "scala": "scala",
    },
}


def broken(tmp_path: Path, old: str, new: str) -> Path:
    assert old in C_FILE
    file = tmp_path / "c.toml"
    file.write_text(C_FILE.replace(old, new, 1))
    return file


EXPECTED = """
    ada awk bash c cobol cpp cpp17 cpp23 csharp d fortran gas go haskell java javascript
    kotlin lisp lua nasm nim objectivec ocaml pascal perl php prolog pypy3 python3 r ruby
    rust scala sql tcl text typescript
"""


def test_all_languages_are_shipped() -> None:
    assert [language.id for language in load_catalogue()] == EXPECTED.split()


@pytest.mark.parametrize("judge", sorted(NAMES))
def test_the_language_names_of_other_judges_are_known(judge: str) -> None:
    catalogue = load_catalogue()
    for name, language in NAMES[judge].items():
        assert catalogue.named(name).id == language, name


@pytest.mark.parametrize(
    ("file", "language"),
    [
        ("a.cpp", "cpp"),
        ("a.cc", "cpp"),
        ("a.C", "cpp"),
        ("a.c", "c"),
        ("a.py", "python3"),
        ("a.pl", "perl"),
        ("a.R", "r"),
        ("a.PY", "python3"),
        ("a.s", "gas"),
        ("a.asm", "nasm"),
    ],
)
def test_a_shared_extension_has_one_default(file: str, language: str) -> None:
    assert load_catalogue().for_file(file).id == language


@pytest.mark.parametrize(
    ("file", "text", "language"),
    [
        ("a.py", "#!/usr/bin/env pypy3\nprint(1)", "pypy3"),
        ("a.py", "#!/usr/bin/env python3\nprint('pypy')", "python3"),
        ("a.pl", ":- use_module(library(lists)).\nx.", "prolog"),
        ("a.pl", "% A fact\nlikes(a, b).\nmain :-\n  likes(a, X), write(X).", "prolog"),
        ("a.pl", "use strict;\nmy %h = (a => 1);\nprint $h{a} ? 1 :-1;", "perl"),
    ],
)
def test_the_content_decides_between_languages_of_one_extension(
    file: str, text: str, language: str
) -> None:
    assert load_catalogue().for_file(file, text).id == language


def test_npm_packages_are_pinned_without_registry_addresses() -> None:
    """J6: the lock file has the versions that the language files name."""
    lock = json.loads(
        (shipped_directory("languages") / "npm" / "package-lock.json").read_text()
    )
    expected = {package for language in load_catalogue() for package in language.npm}
    root = lock["packages"].pop("")["dependencies"]
    assert {f"{name}@{version}" for name, version in root.items()} == expected
    for name, entry in lock["packages"].items():
        assert entry["integrity"].startswith("sha512-"), name
        assert "resolved" not in entry, name


def test_every_language_is_in_the_documentation() -> None:
    page = (shipped_directory("languages").parent / "docs" / "languages.md").read_text()
    for language in load_catalogue():
        assert f"`{language.id}`" in page, language.id


def test_a_language_file_is_named_after_its_language() -> None:
    for file in shipped_directory("languages").glob("*.toml"):
        assert load_language(file).id == file.stem


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[run]", "[run]\ntimeout = 3", "c.toml: the key run.timeout is unknown"),
        ('name = "C"', 'name = "C"\nnmae = "C"', "c.toml: the key nmae is unknown"),
        ("cpu_s = 10", 'cpu_s = "soon"', "c.toml: the key compile.cpu_s is invalid"),
        ("cpu_s = 10", "cpu_s = -1", "c.toml: the key compile.cpu_s is invalid"),
        ('output = "program"', 'output = "../x"', "the key compile.output is invalid"),
        ("{output}", "{outptu}", "the key compile.argv has the unknown placeholder {outptu}"),
        ("{code}/program", "{heap_mb}{x}", "the key run.argv has the unknown placeholder {x}"),
        ("pattern = '", "pattern = '(", "the key version.pattern is invalid"),
        ("packages", 'npm = ["x"]\npackages', "the key npm.0 is invalid"),
        ("packages", 'recognised_by = "("\npackages', "the key recognised_by is invalid"),
        ("[run]", '[run]\nenvironment = { a = "1" }', "the key run.environment.a.[key] is"),
        (
            "[run]",
            '[run]\nenvironment = { A = "{x}" }',
            "the key run.environment has the unknown placeholder {x}",
        ),
        ("[run]", '[run.permissions.errno]\nsocket = "ENOPE"\n[run]', "ENOPE is not the name"),
        ("[run]", "[run", "c.toml is not valid TOML"),
        ('id = "c"', "", "the key id is invalid: Field required"),
    ],
)
def test_an_invalid_file_is_refused_with_its_name_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(Refused, match=re.escape(message)):
        load_language(broken(tmp_path, old, new))


def test_a_directory_without_languages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no language file"):
        load_catalogue(tmp_path)


@pytest.mark.parametrize(
    ("language", "path"),
    [
        ("c", "/usr/lib/linux/uapi"),
        ("cpp", "/usr/lib/linux/uapi"),
        ("javascript", "/usr/share/nodejs/cjs-module-lexer"),
        ("typescript", "/usr/share/nodejs/undici"),
    ],
)
def test_x2_boxes_show_what_debian_stores_elsewhere(language: str, path: str) -> None:
    """Debian 13 links to the kernel's headers; Debian's Node.js loads parts of its library."""
    found = load_catalogue().named(language)
    compiler = found.compile.shows if found.compile else ()
    assert path in (*found.shows, *compiler, *found.run.shows)


def test_x11_boxes_show_only_directories_that_the_launcher_allows() -> None:
    """X11: it refuses all boxes of a worker if a single language shows another directory."""
    shown = {
        path
        for language in load_catalogue()
        for step in (language, language.run, language.compile)
        if step is not None
        for path in step.shows
        if not path.startswith("{")  # the directory of a tool
    }
    below = {path for path in shown if any(map(Path(path).is_relative_to, SYSTEM_DIRECTORIES))}
    assert "/var/lib/gems" in below
    assert shown == below
