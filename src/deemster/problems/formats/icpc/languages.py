"""The programming languages of the ICPC format, with their file extensions."""

import re
from collections.abc import Iterable

ENDINGS: dict[str, str] = {
    "ada": "adb ads",
    "algol68": "a68",
    "apl": "apl",
    "bash": "sh bash",
    "c": "c",
    "cgmp": "",
    "cobol": "cob",
    "cpp": "cc cpp cxx c++ C",
    "cppgmp": "",
    "crystal": "cr",
    "csharp": "cs",
    "d": "d",
    "dart": "dart",
    "elixir": "ex",
    "erlang": "erl",
    "forth": "fth 4th forth frt",
    "fortran": "f90 f95",
    "fsharp": "fs",
    "gerbil": "ss",
    "go": "go",
    "haskell": "hs",
    "java": "java",
    "javaalgs4": "",
    "javascript": "js mjs cjs",
    "julia": "jl",
    "kotlin": "kt",
    "lisp": "lisp cl",
    "lua": "lua",
    "modula2": "mod def",
    "nim": "nim",
    "objectivec": "m",
    "ocaml": "ml",
    "octave": "",
    "odin": "odin",
    "pascal": "pas",
    "perl": "pm",
    "php": "php",
    "prolog": "pl plg",
    "python2": "py2",
    "python3": "py py3",
    "python3numpy": "",
    "racket": "rkt",
    "ruby": "rb",
    "rust": "rs",
    "scala": "scala sc",
    "simula": "sim",
    "smalltalk": "st",
    "snobol": "sno",
    "swift": "swift",
    "typescript": "ts",
    "visualbasic": "vb",
    "zig": "zig",
}
"""The format's table, with the additions of DOMjudge and problemtools."""

OTHER_ENDINGS = frozenset({"R", "awk", "tcl", "sql", "s", "asm"})

CODES = frozenset(ENDINGS)
SOURCE_ENDINGS = OTHER_ENDINGS | {
    ending for endings in ENDINGS.values() for ending in endings.split()
}
HEADER_ENDINGS = frozenset({"h", "hh", "hpp", "hxx", "h++", "inc", "tcc"})
PYTHON2 = re.compile(rb"#!.*python2")


def ending(name: str) -> str:
    return name.rpartition(".")[2] if "." in name else ""


def is_source(name: str) -> bool:
    return ending(name) in SOURCE_ENDINGS


def is_header(name: str) -> bool:
    return ending(name) in HEADER_ENDINGS


def is_python2(beginnings: Iterable[bytes]) -> bool:
    """Whether the first line of every .py file asks for Python 2."""
    lines = list(beginnings)
    return bool(lines) and all(PYTHON2.match(line) for line in lines)
