"""Prepares TeX: removes comments, expands macros, and finds matching braces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

VERBATIM = frozenset({"verbatim", "lstlisting", "Verbatim", "alltt", "minted"})
MAX_DEPTH = 30
MAX_EXPANSIONS = 2_000
MAX_CHARACTERS = 1_000_000
COMMENT = re.compile(
    rf"(\\begin\s*\{{(?:{'|'.join(VERBATIM)})\*?\}})|(\\.)|(%[^\n]*(?:\n[ \t]*)?)"
)
ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}")
DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand)\*?\s*\{?\\([a-zA-Z]+)\}?\s*(?:\[(\d)\])?\s*(?=\{)"
    r"|\\def\s*\\([a-zA-Z]+)\s*(?=\{)"
)


def without_comments(text: str) -> str:
    out: list[str] = []
    at = 0
    while found := COMMENT.search(text, at):
        out.append(text[at : found.start()])
        at = found.end()
        if found[1]:
            name = found[1].partition("{")[2].rstrip("}")
            closing = text.find(f"\\end{{{name}}}", at)
            at = len(text) if closing < 0 else closing
            out.append(text[found.start() : at])
        elif found[2]:
            out.append(found[2])
    out.append(text[at:])
    return "".join(out)


def matching_braces(text: str) -> dict[int, int]:
    """The position of the closing brace for each opening one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for mark in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        if mark[0] == "{":
            opened.append(mark.start())
        elif mark[0] == "}" and opened:
            found[opened.pop()] = mark.start()
    return found


def find_environments(text: str) -> dict[int, tuple[str, int, int, int]]:
    found: dict[int, tuple[str, int, int, int]] = {}
    opened: list[re.Match[str]] = []
    for mark in ENVIRONMENT.finditer(text):
        if opened and opened[-1][2].rstrip("*") in VERBATIM and mark[0] != close_of(opened[-1]):
            continue
        if mark[1] == "begin":
            opened.append(mark)
        elif any(each[2] == mark[2] for each in opened[-MAX_DEPTH:]):
            while opened:
                begin = opened.pop()
                if begin[2] == mark[2]:
                    found[begin.start()] = (mark[2], begin.end(), mark.start(), mark.end())
                    break
    return found


def close_of(begin: re.Match[str]) -> str:
    return f"\\end{{{begin[2]}}}"


@dataclass(frozen=True, slots=True)
class Macro:
    arguments: int
    body: str


def expand_macros(text: str) -> str:
    """Expands macros that the text defines, up to a bound on the size."""
    macros, text = take_definitions(text)
    if not macros:
        return text
    names = "|".join(sorted(map(re.escape, macros), key=len, reverse=True))
    used = re.compile(rf"\\({names})(?![a-zA-Z])")
    for _ in range(5):
        changed = expand_once(text, used, macros)
        if changed == text or len(changed) > MAX_CHARACTERS:
            break
        text = changed
    return text


def take_definitions(text: str) -> tuple[dict[str, Macro], str]:
    macros: dict[str, Macro] = {}
    braces = matching_braces(text)
    kept: list[str] = []
    at = 0
    for found in DEFINED.finditer(text):
        closing = braces.get(found.end())
        if found.start() < at or closing is None:
            continue
        kept.append(text[at : found.start()])
        body = text[found.end() + 1 : closing]
        macros[found[1] or found[3]] = Macro(int(found[2] or 0), body)
        at = closing + 1
    kept.append(text[at:])
    return macros, "".join(kept)


def expand_once(text: str, used: re.Pattern[str], macros: Mapping[str, Macro]) -> str:
    braces = matching_braces(text)
    out: list[str] = []
    at = count = size = 0
    for found in used.finditer(text):
        if found.start() < at:
            continue
        macro = macros[found[1]]
        arguments, end = take_arguments(text, found.end(), macro.arguments, braces)
        count += 1
        size += len(macro.body) + sum(map(len, arguments))
        if count > MAX_EXPANSIONS or size > MAX_CHARACTERS:
            return text
        out.append(text[at : found.start()])
        out.append(filled(macro.body, arguments))
        at = end
    out.append(text[at:])
    return "".join(out)


def take_arguments(
    text: str, at: int, count: int, braces: Mapping[int, int]
) -> tuple[list[str], int]:
    arguments: list[str] = []
    for _ in range(count):
        start = at
        while start < len(text) and text[start] in " \t\n":
            start += 1
        closing = braces.get(start)
        if closing is not None:
            arguments.append(text[start + 1 : closing])
            at = closing + 1
        else:
            arguments.append(text[start : start + 1])
            at = min(start + 1, len(text))
    return arguments, at


def filled(body: str, arguments: list[str]) -> str:
    def value(found: re.Match[str]) -> str:
        number = int(found[1])
        return arguments[number - 1] if 0 < number <= len(arguments) else found[0]

    return re.sub(r"#(\d)", value, body)
