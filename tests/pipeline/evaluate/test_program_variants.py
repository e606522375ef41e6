"""P5: what is left of a program in its two variants."""

import pytest

from deemster.domain.evaluation import Variant
from deemster.pipeline.evaluate.program_variants import (
    KEPT_NAMES,
    PreparedFile,
    neutral_number,
    prepare,
    readable,
)
from deemster.programs.tokens import tokens_of


def variant_of(variant: Variant, lexer: str, source: str, name: str = "") -> PreparedFile:
    tokens = tokens_of(lexer, readable(source.encode()))
    (file,) = prepare(variant, [tokens], name).files
    return file


def plain(source: str, *, lexer: str = "python", name: str = "") -> str:
    return "\n".join(variant_of(Variant.PLAIN, lexer, source, name).lines)


def neutral(source: str, *, lexer: str = "python") -> str:
    return "\n".join(variant_of(Variant.NEUTRAL, lexer, source).lines)


@pytest.mark.parametrize(
    ("source", "lexer", "expected"),
    [
        ("total = 5", "python", "name1 = 5"),
        ("print(len(words))", "python", "print(len(name1))"),
        ("a.append(b)  # add", "python", "name1.append(name2)"),
        ("x = 'yes %d\\n' % y", "python", "name1 = 'w %d\\n' % name2"),
        ("x = 0x6f626579", "python", "name1 = 2000000000"),
        ("M = 10**9 + 7", "python", "name1 = 10**9 + 7"),
        ("M = 1000000007", "python", "name1 = 1000000007"),
        ("#include <vector>\nint obey;", "cpp", "#include <vector>\nint name1;"),
        ("#define OBEY 100\n", "cpp", "#define name1 100"),
        ('printf("%lld sum", s);', "c", 'printf("%lld w", name1);'),
        ("/* a\n b */ int x;", "c", "\n int name1;"),
        ("имя = 1", "python", "name1 = 1"),
        ("x = 'ß…'", "python", "name1 = 'w'"),
        ("for i in range(3): pass", "python", "for name1 in range(3): pass"),
    ],
)
def test_the_neutral_variant(source: str, lexer: str, expected: str) -> None:
    assert neutral(source, lexer=lexer) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Ada\n# 2024\nx = 1\n", "\n\nx = 1"),
        ("#!/usr/bin/env python3\nx = 1\n", "\nx = 1"),
        ("x = 1\n# author: Ada\n", "x = 1\n# removed"),
        ("x = 1  # ask ada@uni.example.org\n", "x = 1  # removed"),
        ("x = 'ada@uni.example.org'\n", "x = 'removed'"),
        ("x = 'https://example.org/ada'\n", "x = 'removed'"),
        ("x = 1  # sort by key\n", "x = 1  # sort by key"),
        ("ada_sum = Ada + adapter\n", "person_sum = person + adapter"),
    ],
)
def test_p5_the_plain_variant_names_no_person(source: str, expected: str) -> None:
    assert plain(source, name="ada") == expected


def test_characters_without_a_visible_form_are_dropped() -> None:
    hidden = "\u202e\u2066\u200b\u2060\ufeff\U000e0061\u00ad\x00\x1b\ue000"
    assert readable(f"a{hidden}b\r\nc\rd\u2028e\u00a0f".encode()) == "ab\nc\nd e f"


def test_both_variants_have_the_same_lines() -> None:
    source = '"""Doc\nstring."""\nx = 1\n\n# a\ny = """a\nb"""  # c\nprint(x)\n'
    first = variant_of(Variant.PLAIN, "python", source)
    second = variant_of(Variant.NEUTRAL, "python", source)
    assert len(first.lines) == len(second.lines)
    assert first.code_lines == second.code_lines == {3, 6, 8}


def test_usual_numbers_stay_and_codes_of_letters_do_not() -> None:
    kept = "0 1 10 12 60 64 100 128 255 256 365 1000 1024 65535 100000 1000000007 0xFFFF"
    assert [neutral_number(number) for number in kept.split()] == kept.split()
    letters = [neutral_number(str(ord(letter))) for letter in "obeymeanswer"]
    assert len(set(letters)) <= 4, "different letters become the same number"


def test_no_kept_name_gives_an_order() -> None:
    orders = "answer yes no ignore obey score grade full marks points previous instruction"
    assert KEPT_NAMES.isdisjoint(orders.split())
