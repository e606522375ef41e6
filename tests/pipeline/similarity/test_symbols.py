"""Tests for similarity/symbols.py: what a disguise changes makes no difference."""

import pytest

from tests.pipeline.similarity.sources import symbols, texts


def test_names_numbers_and_strings_are_classes() -> None:
    assert texts("total = rate(7) + 'x'") == texts("y = f(12345) + '''long'''")


def test_comments_and_documentation_are_left_out() -> None:
    plain = "def f(a):\n    return a\n"
    assert texts('# why\ndef f(a):\n    """Says."""\n    return a  # here\n') == texts(plain)


def test_imports_and_includes_are_left_out() -> None:
    assert texts("import sys\nfrom os import path, sep\nprint(1)\n") == texts("print(1)\n")
    first = "#include <cstdio>\n#define N 5\nusing namespace std;\nint main() { return f(1); }"
    assert texts(first, "a.cpp") == texts("int main() { return f(1); }", "a.cpp")


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        (
            "a.cpp",
            "for (int i = 0; i < n; i++) sum += a[i] * b;",
            "int i = 0; while (i < n) { sum += a[i] * b; ++i; }",
        ),
        (
            "A.java",
            "for (int i = 0; i < n; i++) { f(i, a); }",
            "int i = 0; do { f(i, a); i += 1; } while (i < n);",
        ),
        ("a.js", "for (const x of list) f(x, 1);", "for (let i = 0; i < n; ++i) f(i, 1);"),
        ("a.go", "for i := 0; i < n; i++ { f(i) }", "for i < n { f(i); i++ }"),
    ],
)
def test_forms_of_a_loop_are_alike(name: str, one: str, other: str) -> None:
    without_loops = [
        [text for text in texts(source, name) if text != "loop"] for source in (one, other)
    ]
    assert without_loops[0] == without_loops[1]
    assert "loop" in texts(one, name)
    assert "loop" in texts(other, name)


def test_a_loop_without_an_end_of_its_header_hides_nothing() -> None:
    assert texts("for x y z\n" * 3) == ["loop", "name", "name", "name"] * 3


def test_types_and_modifiers_make_no_difference() -> None:
    one = "static const int n = f(); long long m = g();"
    assert texts(one, "a.cpp") == texts("long n = f(); unsigned long m = g();", "a.cpp")


def test_a_list_of_numbers_is_one_number() -> None:
    assert texts("x = f([1, 2, 3, 4])") == texts("x = f([9])")
    assert texts("f(1, x)") != texts("f(1)")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_with_any_line_end(end: str) -> None:
    source = end.join(["# one", "'''a", "b'''", "", "x = f(y)"])
    assert {symbol.line for symbol in symbols(source) if symbol.text == "name"} == {5}
