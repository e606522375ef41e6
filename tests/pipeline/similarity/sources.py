"""Programs for tests of similarity, and many made ones."""

import random
from functools import cache
from pathlib import Path

from deemster.pipeline.similarity.comparison import Program
from deemster.pipeline.similarity.fingerprints import fingerprints_of
from deemster.pipeline.similarity.symbols import Symbol, symbols_of
from deemster.programs.build.languages import load_catalogue, shipped_directory
from deemster.programs.tokens import tokens_of

PROGRAMS = Path(__file__).parent / "programs"
PLANTED = PROGRAMS / "planted"
SAMPLES = shipped_directory("samples")


@cache
def lexer_of(name: str) -> str:
    return load_catalogue().for_file(name).lexer


def symbols(source: str, name: str = "main.py") -> list[Symbol]:
    return symbols_of(tokens_of(lexer_of(name), source))


def texts(source: str, name: str = "main.py") -> list[str]:
    return [symbol.text for symbol in symbols(source, name)]


def program(
    source: str,
    id_: str = "1",
    author: str | None = None,
    *,
    name: str = "main.py",
    template: frozenset[int] = frozenset(),
) -> Program[str]:
    return Program(id_, author or id_, fingerprints_of([symbols(source, name)], template))


def program_in(file: Path, author: str | None = None) -> Program[str]:
    return program(file.read_text(), str(file), author, name=file.name)


OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^")
TESTS = ("<", ">", "==", "!=", "<=", ">=")


def made_source(seed: int, functions: int = 10) -> str:
    """A program of about ten lines for each function, unlike that of any other seed."""
    choose = random.Random(seed)
    names = [f"v{number}" for number in range(6)]
    parts = [made_function(choose, f"f{number}", names) for number in range(functions)]
    calls = [f"    print(f{number}(n, {number}, data))" for number in range(functions)]
    main = ["def main():", "    n = int(input())", "    data = list(map(int, input().split()))"]
    return "\n\n".join([*parts, "\n".join([*main, *calls]), "main()"]) + "\n"


def made_function(choose: random.Random, name: str, names: list[str]) -> str:
    lines = [f"def {name}(a, b, data):"]
    depth = 1
    for _ in range(choose.randint(7, 10)):
        one, other, third = choose.choices([*names, "a", "b", "data[a]", "len(data)"], k=3)
        sign, second = choose.choices(OPERATORS, k=2)
        line = choose.choice(
            [
                f"{choose.choice(names)} = {one} {sign} {other}",
                f"{choose.choice(names)} = ({one} {sign} {other}) {second} {third}",
                f"data.append({one} {sign} {choose.randint(1, 99)})",
                f"{choose.choice(names)} = max({one}, {other} {sign} {third})",
                f"if {one} {choose.choice(TESTS)} {other}:",
                f"while {one} {choose.choice(TESTS)} {other} {sign} {third}:",
                f"for {choose.choice(names)} in range({one}, {other}):",
                f"{names[0]}, {choose.choice(names)} = {one}, {other} {sign} {third}",
                f"return [{one}, {other} {sign} {third}]",
            ]
        )
        lines.append("    " * depth + line)
        if line.endswith(":"):
            depth += 1
        elif choose.random() < 0.4:
            depth = max(1, depth - 1)
    if lines[-1].endswith(":"):
        lines.append("    " * depth + "pass")
    lines.append(f"    return {choose.choice(names)} {choose.choice(OPERATORS)} a")
    return "\n".join(lines)
