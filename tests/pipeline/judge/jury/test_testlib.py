"""Tests for jury/testlib.h: programs behave as testlib's documentation says."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

SOURCES = Path(__file__).parent / "testlib"
JURY = Path(__file__).parents[4] / "jury"

Build = Callable[[str], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    directory = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        directory = directory.parent  # shared by all workers of this run

    def built(name: str) -> Path:
        with (directory / "testlib.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            program = directory / f"testlib-{name}"
            if not program.exists():  # no other test or process of this run was first
                build_all(directory)
        return program

    return built


def build_all(directory: Path) -> None:
    """Builds one program with several names: alone, each would take nearly as long."""
    names = [source.stem for source in sorted(SOURCES.glob("*.cpp"))]
    text = '#include <bits/stdc++.h>\n#include "testlib.h"\n'
    for name in names:
        text += f"#define main {name}_main\nnamespace {name} {{\n"
        text += f'#include "{SOURCES / name}.cpp"\n}}\n#undef main\n'
    text += "int main(int argc, char **argv)\n{\n    std::string name = argv[0];\n"
    for name in names:
        text += f'    if (name.ends_with("/testlib-{name}"))\n'
        text += f"        return {name}::{name}_main(argc, argv);\n"
    source = directory / "testlib.cpp"
    source.write_text(f"{text}    return 99;\n}}\n")
    compile_with("gnu++20", source, directory / "testlib")
    for name in names:
        (directory / f"testlib-{name}").symlink_to("testlib")


def compile_with(standard: str, source: Path, program: Path, *first: str) -> None:
    flags = [*first, "-Wall", "-Wextra", "-Werror", f"-std={standard}", f"-I{JURY}"]
    done = subprocess.run(
        ["g++", *flags, "-o", str(program), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run(argv: Sequence[object], stdin: str = "") -> tuple[int, str, str]:
    done = subprocess.run(
        [str(word) for word in argv],
        input=stdin.encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode().rstrip("\n")


@pytest.mark.parametrize(
    ("standard", "name"), [("c++11", "gen"), ("c++14", "sums"), ("c++23", "tree")]
)
def test_the_header_compiles_without_warnings(
    build: Build, tmp_path: Path, standard: str, name: str
) -> None:
    compile_with(standard, SOURCES / f"{name}.cpp", tmp_path / name, "-fsyntax-only")


# ---- reading, in a checker ----


def check(
    build: Build,
    tmp_path: Path,
    script: str,
    output: str,
    role: str = "checker",
    extra: Sequence[str] = (),
) -> tuple[int, str, str]:
    for name in ("input", "output", "answer"):
        content = output if name == role or (name, role) == ("output", "checker") else ""
        (tmp_path / name).write_text(content, newline="")
    files = [tmp_path / name for name in ("input", "output", "answer")]
    return run([build("probe"), role, script, *files, *extra])


@pytest.mark.parametrize(
    ("script", "output", "code", "shown", "message"),
    [
        # Tokens and numbers, with any blanks before them.
        ("int;ok", "5", 0, "[5]", "ok fine "),
        ("int;ok", " \r\n\t5\n", 0, "[5]", "ok"),
        ("int;int;ok", "5\n-7", 0, "[5][-7]", "ok"),
        ("int;ok", "", 2, "", "wrong output format Unexpected end of file - int32 expected"),
        ("int;ok", " \n", 2, "", "Unexpected end of file"),
        ("int;ok", "abc", 2, "", 'wrong output format Expected int32, but "abc" found'),
        ("int;ok", "+5", 2, "", '"+5"'),
        ("int;ok", "05", 2, "", '"05"'),
        ("int;ok", "-0", 2, "", '"-0"'),
        ("int;ok", "0", 0, "[0]", "ok"),
        ("int;ok", "-", 2, "", '"-"'),
        ("int;ok", "5.0", 2, "", '"5.0"'),
        ("int;ok", "5x", 2, "", '"5x"'),
        ("int;ok", "2147483647", 0, "[2147483647]", "ok"),
        ("int;ok", "-2147483648", 0, "[-2147483648]", "ok"),
        ("int;ok", "2147483648", 2, "", "int32"),
        ("int;ok", "-2147483649", 2, "", "int32"),
        ("int;ok", "1" * 400, 2, "", "1" * 30 + "..." + "1" * 31),
        ("integer~1~3;ok", "3", 0, "[3]", "ok"),
        ("int~1~3~n;ok", "4", 1, "",
         "wrong answer Integer parameter [name=n] equals to 4, violates the range [1, 3]"),
        ("int~1~3;ok", "0", 1, "", "wrong answer Integer 0 violates the range [1, 3]"),
        ("long;ok", "9223372036854775807", 0, "[9223372036854775807]", "ok"),
        ("long;ok", "-9223372036854775808", 0, "[-9223372036854775808]", "ok"),
        ("long;ok", "9223372036854775808", 2, "", "Expected int64"),
        ("long~-5~5~x;ok", "6", 1, "", "[name=x] equals to 6"),
        ("ulong;ok", "18446744073709551615", 0, "[18446744073709551615]", "ok"),
        ("ulong;ok", "18446744073709551616", 2, "", "unsigned int64"),
        ("ulong;ok", "-1", 2, "", "unsigned int64"),
        ("ulong~1~3;ok", "9", 1, "", "violates the range [1, 3]"),
        ("double;ok", "1.5", 0, "[1.5]", "ok"),
        ("double;real;ok", "1e3 .5", 0, "[1000][0.5]", "ok"),
        ("double;ok", "nan", 2, "", "Expected double"),
        ("double;ok", "inf", 2, "", "Expected double"),
        ("double;ok", "1e999", 2, "", "Expected double"),
        ("double;ok", "0x10", 2, "", "Expected double"),
        ("double;ok", "1.5.2", 2, "", "Expected double"),
        ("double;ok", "-", 2, "", "Expected double"),
        ("double~0~1~p;ok", "1.5", 1, "", "Double parameter [name=p] equals to 1.5, violates"),
        ("real~0~1;ok", "0.5", 0, "[0.5]", "ok"),
        ("strict~0~2~1~3;ok", "1.25", 0, "[1.25]", "ok"),
        ("strict~0~2~1~3;ok", "1", 2, "", "strict double"),
        ("strict~0~2~1~3;ok", "1.2345", 2, "", "strict double"),
        ("strict~0~2~0~3;ok", "01.5", 2, "", "strict double"),
        ("strict~0~2~0~3;ok", "1e0", 2, "", "strict double"),
        ("strict~0~2~0~3;ok", "1.", 2, "", "strict double"),
        ("strict~0~2~0~3~q;ok", "2.5", 1, "", "[name=q] equals to 2.5"),
        ("token;word;ok", " ab  c ", 0, "[ab][c]", "ok"),
        ("token;ok", "", 2, "", "Unexpected end of file - token expected"),
        ("token~[a-z]{1,3}~s;ok", "abcd", 1, "",
         'parameter [name=s] equals to "abcd", doesn\'t correspond to pattern "[a-z]{1,3}"'),
        ("token~[a-z]{1,3};ok", "abc", 0, "[abc]", "ok"),
        ("word~yes|no;ok", "maybe", 1, "", 'Token "maybe"'),
        ("word~yes|no;ok", "no", 0, "[no]", "ok"),
        # Lines and their ends.
        ("line;line;ok", "a b\n\n", 0, "[a b][]", "ok"),
        ("line;line;ok", "a b \r\nc", 0, "[a b ][c]", "ok"),
        ("string;ok", "", 2, "", "Expected line"),
        ("line~[a-z]{1,2}~l;ok", "abc\n", 1, "", "Line parameter [name=l]"),
        ("lines~2;ok", "a\nb\n", 0, "[a,b]", "ok"),
        ("lines~2~[ab]~l;ok", "a\nc\n", 1, "", "[name=l[2]]"),
        ("int;eoln?;int;eoln?;ok", "1\n2\r\n", 0, "[1][1][2][1]", "ok"),
        ("int;eoln?;int;ok", "1 2", 0, "[1][0][2]", "ok"),
        ("int;eoln;int;ok", "1 \n2", 2, "[1]", "Expected EOLN"),
        ("int;seekeoln?;int;ok", "1 \t\n2", 0, "[1][1][2]", "ok"),
        ("int;eoln;eof;ok", "1", 0, "[1]", "ok"),  # the last line needs no end
        ("int;eof?;seekeof?;eof?;ok", "1 \n", 0, "[1][0][1][1]", "ok"),
        ("int;eof;ok", "1 ", 2, "[1]", "Expected EOF"),
        ("char;char;unread~z;char;int;ok", "ab5", 0, "[a][b][z][5]", "ok"),
        ("char~a;ok", "b", 2, "", "Unexpected character 'b', but 'a' expected"),
        ("char~a;ok", "", 2, "", "Unexpected end of file"),
        ("char~a;space;int;ok", "a 5", 0, "[a][5]", "ok"),
        ("space;ok", "5", 2, "", "#32 expected"),
        ("skip;blanks;char;ok", "x  y", 0, "[y]", "ok"),
        ("int;reset;int;ok", "5", 0, "[5][5]", "ok"),
        ("text;token;ok", "ab", 0, "[12][ab]", "ok"),
        ("parse~-12~1e2;ok", "", 0, "[-12][100]", "ok"),
        ("parse~012~1;ok", "", 2, "", 'Expected int64, but "012" found'),
        ("parse~12~x;ok", "", 2, "[12]", 'Expected double, but "x" found'),
        ("token;ok", "\ufeffab", 0, "[ab]", "ok"),  # a byte order mark is passed over
        # Many.
        ("ints~3;ok", "1\n2 3", 0, "[1,2,3]", "ok"),
        ("ints~3~1~2~a;ok", "1 2 3", 1, "", "Integer element [name=a[3]] equals to 3"),
        ("ints~3;ok", "1 2", 2, "", "Unexpected end of file"),
        ("ints~0;ok", "", 0, "[]", "ok"),
        ("ints~-1;ok", "", 2, "", "negative"),
        ("ints~2000000000;ok", "1", 2, "", "Unexpected end of file"),
        ("longs~2~0~9~a;ok", "1 10", 1, "", "[name=a[2]]"),
        ("doubles~2~0~9~a;ok", "1 2.5", 0, "[1,2.5]", "ok"),
        ("tokens~2;ok", "a\nb", 0, "[a,b]", "ok"),
        ("tokens~2~[a-b]~t;ok", "a c", 1, "", "[name=t[2]]"),
        # What is left over.
        ("int;ok", "1 2", 2, "[1]", "wrong output format Extra information in the output file"),
        ("int;points~3", "1 2", 2, "[1]", "Extra information"),
        ("int;wa~so", "1 2", 1, "[1]", "wrong answer bad so"),
    ],
)  # fmt: skip
def test_reading_in_a_checker(
    build: Build, tmp_path: Path, script: str, output: str, code: int, shown: str, message: str
) -> None:
    found = check(build, tmp_path, script, output)
    assert found[:2] == (code, shown), found
    assert message in found[2]


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("ok~x", 0, "ok fine x"),
        ("wa~x", 1, "wrong answer bad x"),
        ("pe", 2, "wrong output format odd"),
        ("fail", 3, "FAIL ours"),
        ("dirt", 2, "wrong output format dirty"),
        ("points~0.5", 7, "points 0.5 got 7"),
        ("points~2.50", 7, "points 2.5 got 7"),
        ("points~1e6", 7, "points 1000000 got 7"),
        ("points~nan", 3, "FAIL The points are no number"),
        ("intpoints", 7, "points 5"),
        ("info", 7, "points 12 said so"),
        ("pc~0", 16, "partially correct (0) half"),
        ("pc~50", 66, "partially correct (50) half"),
        ("pc~100", 116, "partially correct (100) half"),
        ("inwa", 1, "wrong answer of the stream"),
        ("quitif~0;ok", 0, "ok fine "),
        ("quitif~1;ok", 1, "wrong answer since 1"),
        ("ensure~1;ok", 0, "ok fine "),
        ("ensure~0;ok", 3, 'FAIL Condition failed: "num(1) > 0"'),
        ("ensuref~0;ok", 3, "FAIL not 0"),
        ("case~4;wa~x", 1, "wrong answer bad x (test case 4)"),
        ("eof?", 3, "FAIL Checker must end with quit or quitf call."),
    ],
)
def test_each_way_to_quit_has_its_exit_code(
    build: Build, tmp_path: Path, script: str, code: int, message: str
) -> None:
    found = check(build, tmp_path, script, "")
    assert (found[0], found[2]) == (code, message)


@pytest.mark.parametrize("role", ["input", "answer"])
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("int;ok", "FAIL Unexpected end of file - int32 expected"),
        ("inwa", "FAIL of the stream"),
        ("token~[a-z];ok", "FAIL Unexpected end of file"),
    ],
)
def test_an_error_in_the_jurys_files_is_a_fail(
    build: Build, tmp_path: Path, role: str, script: str, message: str
) -> None:
    """J4: a broken checker or answer is a Judge Error, not a verdict."""
    found = check(build, tmp_path, script, "", role)
    assert found[0] == 3
    assert found[2].startswith(message)
    assert found[2].endswith(f"({tmp_path / role})")


def test_missing_files_are_reported(build: Build, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.touch()
    probe = [build("probe"), "checker", "ok"]
    assert run([*probe, tmp_path / "no", here, here])[0] == 3
    assert run([*probe, here, here, tmp_path / "no"])[0] == 3
    assert run([*probe, here, tmp_path / "no", here])[0] == 2
    code, _, message = run([*probe, here])
    assert (code, message.split(":")[0]) == (
        3,
        "FAIL Program must be run with the following arguments",
    )


def test_a_report_file_is_written_plain_or_as_xml(build: Build, tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert check(build, tmp_path, "wa~<&>", "", extra=[str(report)])[0] == 1
    assert report.read_text() == "wrong answer bad <&>\n"
    assert check(build, tmp_path, "wa~<&>", "", extra=[str(report), "-appes"])[0] == 1
    assert '<result outcome = "wrong-answer">bad &lt;&amp;&gt;</result>' in report.read_text()
    assert check(build, tmp_path, "pc~5", "", extra=[str(report), "-appes"])[0] == 21
    assert '"partially-correct" pctype = "5"' in report.read_text()


def test_testset_and_group_are_passed_to_the_program(build: Build, tmp_path: Path) -> None:
    extra = ["--testset", "pretests", "--group", "g1"]
    assert check(build, tmp_path, "testset;ok", "", extra=extra)[1] == "[pretests/g1]"


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("match~[a-z]{3}~abc", 1),
        ("match~[a-z]{3}~abcd", 0),
        ("match~[a-z]{2,3}~a", 0),
        ("match~[a-z]{2,3}~abc", 1),
        ("match~[a-z]{2,}~abcdef", 1),
        ("match~[a-z]{,2}~", 1),
        ("match~[a-z]{,2}~abc", 0),
        ("match~[A-Za-z0-9_]+~aZ_9", 1),
        ("match~[^a-c]+~xyz", 1),
        ("match~[^a-c]+~xbz", 0),
        ("match~a?b*c+~bbbc", 1),
        ("match~a?b*c+~aab", 0),
        ("match~yes|no~no", 1),
        ("match~yes|no~yesno", 0),
        ("match~(ab|c){2}d?~abcd", 1),
        ("match~(ab|c){2}d?~abd", 0),
        ("match~(a|b)(c|d)~bd", 1),
        ("match~((a)*b)*~aabab", 1),
        ("match~(a*)*~aaa", 1),
        ("match~[0-9]*[13579]~13", 1),
        ("match~[0-9]*[13579]~12", 0),
        ("match~-?[1-9][0-9]{0,2}~-120", 1),
        ("match~\\[\\]\\-~[]-", 1),
        ("match~[a\\-z]{3}~a-z", 1),
        ("match~[a\\-z]~b", 0),
        ("match~[-a]~-", 1),
        ("match~[a-]~-", 1),
        ("match~a b~ab", 1),  # blanks count only behind a backslash
        ("match~a\\ b~a b", 1),
        ("match~[a\\ ]{3}~a a", 1),
        ("match~.~x", 0),  # a point is a point
        ("match~~", 1),
        ("match~~a", 0),
        ("compare~1~1.0000001~1e-6", 1),
        ("compare~1~1.1~1e-6", 0),
        ("compare~1e9~1000000100~1e-6", 1),
        ("compare~nan~nan~1e-6", 1),
        ("compare~1~nan~1e-6", 0),
        ("compare~inf~inf~1e-6", 1),
        ("compare~1e301~5e305~1e-6", 0),
        ("delta~100~101", 0.01),
        ("delta~0~0.5", 0.5),
        ("ending~1", "st"),
        ("ending~2", "nd"),
        ("ending~3", "rd"),
        ("ending~4", "th"),
        ("ending~11", "th"),
        ("ending~112", "th"),
        ("ending~121", "st"),
        ("compress~10", "x" * 10),
        ("compress~100", "x" * 30 + "..." + "x" * 31),
        ("texts", "a b|ABab|a;;b|a;b|121.5007z8"),
    ],
)
def test_patterns_and_small_things(
    build: Build, tmp_path: Path, script: str, shown: object
) -> None:
    assert check(build, tmp_path, f"{script};ok", "")[:2] == (0, f"[{shown}]")


@pytest.mark.parametrize(
    "wrong", ["[a-z", "(a", "a)", "a{", "a{x}", "a{3,2}", "[z-a]", "a\\", "a{99999999999}"]
)
def test_an_invalid_pattern_is_a_fail(build: Build, tmp_path: Path, wrong: str) -> None:
    code, _, message = check(build, tmp_path, f"match~{wrong}~a;ok", "")
    assert code == 3
    assert message.startswith("FAIL Illegal pattern")


def test_long_tokens_are_matched_in_linear_time(build: Build, tmp_path: Path) -> None:
    token = "ab" * 200_000
    pattern = "([a-b]*[ab]{1,400000}|c)[a-z]*"
    code, shown, _ = check(build, tmp_path, f"token~{pattern};ok", token)
    assert (code, len(shown)) == (0, len(token) + 2)


# ---- validators ----


@pytest.mark.parametrize(
    ("script", "given", "code", "message"),
    [
        ("int;space;int;eoln;eof", "1 2\n", 0, ""),
        ("int;space;int;eoln;eof", " 1 2\n", 3, "FAIL Unexpected white-space"),
        ("int;space;int;eoln;eof", "1  2\n", 3, "Unexpected white-space"),
        ("int;space;int;eoln;eof", "1\t2\n", 3, "Unexpected character #9, but #32 expected"),
        ("int;space;int;eoln;eof", "1 2 \n", 3, "FAIL Expected EOLN (stdin, line 1)"),
        ("int;space;int;eoln;eof", "1 2", 3, "Expected EOLN"),
        ("int;space;int;eoln;eof", "1 2\r\n", 3, "Expected EOLN"),
        ("int;space;int;eoln;eof", "1 2\n\n", 3, "FAIL Expected EOF (stdin, line 2)"),
        ("int;space;int;eoln;eof", "1 2\n3", 3, "Expected EOF"),
        ("int;eoln", "1\n", 3, "FAIL Validator must end with readEof call."),
        ("int~1~5~n;eoln;eof", "6\n", 3,
         "[name=n] equals to 6, violates the range [1, 5] (stdin, line 1)"),
        ("ints~3~1~5~a;eoln;eof", "1 2 3\n", 0, ""),
        ("ints~3~1~5~a;eoln;eof", "1 2  3\n", 3, "Unexpected white-space"),
        ("ints~3~1~5~a;eoln;eof", "1 2\n3\n", 3, "#32 expected"),
        ("ints~3~1~5~a;eoln;eof", "1 2 9\n", 3, "[name=a[3]]"),
        ("tokens~2~[a-z]+~s;eoln;eof", "ab c\n", 0, ""),
        ("lines~2~[a-z\\ ]+~l;eof", "a b\nc d\n", 0, ""),
        ("lines~2~[a-z]+~l;eof", "ab\nc d\n", 3, "(stdin, line 3)"),
        ("string;eof", "a b\r\n", 0, ""),
        ("line~[a-z]+;eof", "a\r\n", 3, "doesn't correspond"),
        ("seekeoln?;eof", "\n", 3, "not for strict streams"),
        ("eoln?;eof", "\n", 0, ""),
        ("wa~x", "", 1, "wrong answer bad x"),
        ("ensuref~0;eof", "", 3, "FAIL not 0"),
        ("case~3;int~1~2~n;eof", "7", 3, "(test case 3)"),
    ],
)  # fmt: skip
def test_validators_are_strict(
    build: Build, script: str, given: str, code: int, message: str
) -> None:
    found = run([build("probe"), "validator", script], given)
    assert found[0] == code, found
    assert message in found[2]


@pytest.mark.parametrize(
    ("given", "group", "message"),
    [
        ("3\n1 2\n2 3\nab\n", "", ""),
        ("1\n-\n", "", ""),
        ("3\n1 2\n2 1\nab\n", "", "FAIL edge 2 closes a cycle"),
        ("3\n1 2\n2 4\nab\n", "", "[name=v] equals to 4"),
        ("3\n1 2\nab\n", "", 'Expected int32, but "ab" found (stdin, line 3)'),
        ("3\n1 2\n2 3\nabcdef\n", "", "Token parameter [name=name]"),
        ("11\n", "small", "violates the range [1, 10]"),
    ],
)
def test_a_validator_of_trees(build: Build, given: str, group: str, message: str) -> None:
    argv = [build("tree"), *(["--group", group] if group else [])]
    code, _, stderr = run(argv, given)
    assert (code, message in stderr) == (3 if message else 0, True), stderr


# ---- checkers, interactors and generators as people write them ----


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        ("3\n7\n", 0, "ok 2 sums"),
        ("3 8", 7, "points 0.5 1 of 2"),
        ("4 8", 1, "wrong answer no sum is right"),
        ("3", 2, "wrong output format Unexpected end of file - int64 expected"),
        (
            "3 99999999999",
            1,
            "wrong answer Integer element [name=sum[2]] equals to 99999999999",
        ),
        ("3 7 1", 2, "wrong output format Extra information"),
    ],
)
def test_a_checker_that_gives_points(
    build: Build, tmp_path: Path, output: str, code: int, message: str
) -> None:
    for name, content in (("in", "2\n1 2\n3 4\n"), ("out", output), ("ans", "3\n7\n")):
        (tmp_path / name).write_text(content)
    argv = [build("sums"), *(tmp_path / name for name in ("in", "out", "ans"))]
    found = run(argv)
    assert found[0] == code
    assert found[2].startswith(message)


def test_a_checker_reads_the_output_from_a_pipe(build: Build, tmp_path: Path) -> None:
    """The judge passes the output as /dev/stdin."""
    (tmp_path / "in").write_text("2\n1 2\n3 4\n")
    (tmp_path / "ans").write_text("3\n7\n")
    argv = [build("sums"), tmp_path / "in", "/dev/stdin", tmp_path / "ans"]
    assert run(argv, "3\n7\n")[0] == 0


@pytest.mark.parametrize(
    ("secret", "strategy", "code", "message"),
    [
        (617, "clever", 0, "ok guessed after"),
        (617, "stubborn", 1, "wrong answer ten guesses"),
        (617, "silent", 2, "wrong output format Unexpected end of file"),
        (617, "wild", 1, "Integer parameter [name=guess] equals to 1001"),
        (617, "rude", 2, 'Expected int32, but "hello" found'),
    ],
)
def test_an_interactor_reads_and_answers(
    build: Build, tmp_path: Path, secret: int, strategy: str, code: int, message: str
) -> None:
    (tmp_path / "in").write_text(f"{secret}\n")
    with subprocess.Popen(
        [build("guess"), tmp_path / "in", tmp_path / "left"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        play(process.stdin.write, process.stdout.readline, strategy)
        process.stdin.close()
        stderr = process.stderr.read()
    assert process.returncode == code, stderr
    assert message in stderr
    assert bool((tmp_path / "left").read_text()) == (code == 0)


def play(write: Callable[[str], object], read: Callable[[], str], strategy: str) -> None:
    low, high = 1, int(read())
    if strategy == "silent":
        return
    if strategy in {"wild", "rude"}:
        write("1001\n" if strategy == "wild" else "hello\n")
        return
    for _ in range(10):
        guess = (low + high) // 2 if strategy == "clever" else 1
        write(f"{guess}\n")
        answer = read()
        if answer == "right\n":
            return
        if answer == "more\n":
            low = guess + 1
        else:
            high = guess - 1


def test_an_interactor_survives_the_end_of_the_program(build: Build, tmp_path: Path) -> None:
    """It reads the last message, although no one reads its answer."""
    (tmp_path / "in").write_text("5")
    script = "say~x;int;say~y;int;ok"
    argv = ["interactor", script, str(tmp_path / "in"), str(tmp_path / "left")]
    with subprocess.Popen(
        [build("probe"), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, message = process.communicate(b"1\n")
    assert process.returncode == 2
    assert message.startswith(b"wrong output format Unexpected end of file")


def test_an_interactor_writes_an_output_file(build: Build, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("5")
    argv = ["interactor", "tout;ok", tmp_path / "in", tmp_path / "left"]
    assert run([build("probe"), *argv])[0] == 0
    assert (tmp_path / "left").read_text() == "left\n"


def generate(build: Build, *args: str) -> tuple[int, str, str]:
    return run([build("gen"), *args])


def test_generators_depend_only_on_their_arguments(build: Build) -> None:
    first = generate(build, "-what", "ints", "-n", "50")
    assert first == generate(build, "-what", "ints", "-n", "50")
    assert first[0] == 0
    assert first[1] != generate(build, "-what", "ints", "-n=50")[1]
    assert {int(word) for word in first[1].split()} == set(range(-3, 4))


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("bounds", "fine\n"),
        ("distinct", " ".join(map(str, range(1, 21))) + "\n20 of 20 3\n"),
        ("weights", "1 1\n"),
    ],
)
def test_random_values_are_in_their_range(build: Build, what: str, shown: str) -> None:
    assert generate(build, "-what", what) == (0, shown, "")


def test_permutations_and_choices(build: Build) -> None:
    code, shown, _ = generate(build, "-what", "perm", "-n", "30")
    assert (code, sorted(map(int, shown.split()))) == (0, list(range(1, 31)))
    code, shown, _ = generate(build, "-what", "any")
    assert (code, sorted(shown.split())) == (0, ["2", "a", "b"])


@pytest.mark.parametrize(
    ("args", "code", "shown", "message"),
    [
        (["-d", "1.5", "--flag", "-s=x", "--big=9e15", "-k7", "-list", "1,2"], 0,
         "1.5 1 0 x\n9000000000000000 7 1 1 2 -what\n", ""),
        (["-d", "-1.5", "-k=-3", "-big", "-4", "-list=5"], 0,
         "-1.5 0 0 none\n-4 -3 1 5 -what\n", ""),
        (["-k", "1"], 3, "", "FAIL Opts: unknown key 'd'"),
        (["-d", "x"], 3, "", 'FAIL Opts: "x" is no number'),
        (["-d", "1", "-big", "1.5", "-k", "1", "-list=1"], 3, "1 0 0 none\n", "is no integer"),
        (["-d", "1", "-big", "1", "-k", "99999999999", "-list=1"], 3, "1 0 0 none\n",
         "is no integer"),
        (["-d", "1", "-big", "1", "-k", "1", "-list=1", "-typo=1"], 3,
         "1 0 0 none\n1 1 1 1 -what\n", "FAIL Opts: unused key 'typo'"),
    ],
)  # fmt: skip
def test_options_of_generators(
    build: Build, args: list[str], code: int, shown: str, message: str
) -> None:
    found = generate(build, "-what", "opts", *args)
    assert found[:2] == (code, shown), found
    assert message in found[2]


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        ("6", 0, "ok fine"),
        ("5", 1, "wrong answer line 3: expected '6', but found '5'"),
        ("-1", 2, "wrong output format negative"),
    ],
)
def test_a_difference_is_reported(
    build: Build, tmp_path: Path, output: str, code: int, message: str
) -> None:
    for name, content in (("input", ""), ("output", output), ("answer", "6")):
        (tmp_path / name).write_text(content)
    files = [tmp_path / name for name in ("input", "output", "answer")]
    ended, _, stderr = run([build("differ"), *files])
    assert ended == code
    assert message in stderr
