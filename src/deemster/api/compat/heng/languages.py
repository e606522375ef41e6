"""Finds Deemster's language for the environment of a heng program, and checks its options."""

import re
from collections.abc import Mapping
from typing import Final

from deemster.api.compat.heng.task import Executable
from deemster.domain.errors import Refused
from deemster.domain.language import Catalogue, Language

C: Final = "c"
CPP: Final = "cpp"
JAVA: Final = "java"
NAMES: Final = {"plaintext": "text"}
"""Names of heng that Deemster has no alias for."""
CPP_DEFAULT: Final = "c++17"
FAMILIES: Final[Mapping[str, frozenset[str]]] = {
    C: frozenset({"c"}),
    CPP: frozenset({"cpp", "cpp17", "cpp23"}),
}
"""Languages that the option `version` can choose."""
WITHOUT_EFFECT: Final = frozenset({"lm", "static", "testlib"})
"""Options of C and C++ that change no result here: programs are linked statically and with the
maths library, and testlib.h is there for checkers.
"""
CLASS_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,99}")


def language_of(catalogue: Catalogue, program: Executable, where: str) -> Language:
    """`where` is the path of the program in the request, for error messages."""
    environment = program.environment
    name = environment.language.lower()
    options = dict(environment.options)
    field = f"{where}.environment.options"
    if name == CPP:
        options.setdefault("version", CPP_DEFAULT)
    if name in FAMILIES:
        check_c_options(options, field)
        version = options.get("version")
        if version is not None:
            return versioned(catalogue, name, str(version), field)
    elif name == JAVA:
        check_java_options(options, field)
    else:
        refuse_others(options, frozenset(), field)
    return catalogue.named(NAMES.get(name, name))


def check_c_options(options: Mapping[str, object], field: str) -> None:
    refuse_others(options, WITHOUT_EFFECT | {"o2", "version"}, field)
    if options.get("o2", True) is not True:
        raise Refused(f"{field}.o2: programs are always compiled with -O2.")


def check_java_options(options: Mapping[str, object], field: str) -> None:
    refuse_others(options, frozenset({"className"}), field)
    given = options.get("className", "Main")
    if not isinstance(given, str) or not CLASS_NAME.fullmatch(given):
        raise Refused(f"{field}.className: this is not the name of a class.")


def refuse_others(options: Mapping[str, object], known: frozenset[str], field: str) -> None:
    for name in options:
        if name not in known:
            raise Refused(f"{field}.{name[:40]}: this option is not offered, leave it out.")


def versioned(catalogue: Catalogue, family: str, version: str, field: str) -> Language:
    fault = Refused(f"{field}.version: {version[:40]!r} is not offered.")
    try:
        language = catalogue.named(version)
    except Refused:
        raise fault from None
    if language.id not in FAMILIES[family]:
        raise fault
    return language


def source_name(language: Language, program: Executable, content: bytes) -> str:
    """The name under which the program is compiled."""
    given = program.environment.options.get("className")
    if language.id == JAVA and isinstance(given, str):
        return f"{given}.java"
    return language.file_name("", content.decode(errors="replace"))
