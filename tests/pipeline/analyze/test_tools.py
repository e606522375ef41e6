"""P2: each analyser finds what a program was written to contain, and nothing in a clean one."""

from dataclasses import dataclass

import pytest

from deemster.domain.analysis import AnalyzerId, ToolStatus
from deemster.programs.build.installed_tool import own_places
from deemster.programs.build.toolchain import locate_tools
from tests.pipeline.analyze.conftest import ANALYZERS, Open, SarifErrors


@dataclass(frozen=True, slots=True)
class Sample:
    language: str
    name: str
    wrong: str
    clean: str
    rule: str
    line: int
    at: str
    """Text of the line from the place of the finding on."""
    fixed: bool = False
    """The tool offers a fix."""


BRANCHES = "".join(f"    if x == {number}:\n        return 0\n" for number in range(16))

SAMPLES = {
    "checkstyle": Sample(
        "java",
        "Main.java",
        "class Main {\n"
        "    static boolean isEnd(String word) {\n"
        '        /* é漢 */ return word == "end";\n'
        "    }\n"
        "}\n",
        "class Main {\n"
        "    static boolean isEnd(String word) {\n"
        '        return word.equals("end");\n'
        "    }\n"
        "}\n",
        "StringLiteralEquality",
        3,
        '== "end";',
    ),
    "clang-tidy": Sample(
        "c",
        "main.c",
        "#include <stdio.h>\n"
        "\n"
        "int main(void) {\n"
        "    int n;\n"
        '    if (scanf("%d", &n) != 1) return 1;\n'
        "    /* é漢 */ if ((n > 1 && n < 5) || n == 7);\n"
        '    puts("in range");\n'
        "    return 0;\n"
        "}\n",
        "#include <stdio.h>\n"
        "\n"
        "int main(void) {\n"
        "    int n;\n"
        '    if (scanf("%d", &n) != 1) return 1;\n'
        '    if ((n > 1 && n < 5) || n == 7) puts("in range");\n'
        "    return 0;\n"
        "}\n",
        "clang-diagnostic-empty-body",
        6,
        ";",
    ),
    "clippy": Sample(
        "rust",
        "main.rs",
        'fn main() {\n    let n = 3;\n    if n == n {\n        println!("{}", n);\n    }\n}\n',
        'fn main() {\n    let n = 3;\n    if n > 2 {\n        println!("{}", n);\n    }\n}\n',
        "clippy::eq_op",
        3,
        "n == n {",
    ),
    "cppcheck": Sample(
        "cpp",
        "main.cpp",
        "int main() {\n"
        "    int squares[10];\n"
        "    for (int i = 0; i <= 10; i++) /* é */ squares[i] = i * i;\n"
        "    return squares[9];\n"
        "}\n",
        "int main() {\n"
        "    int squares[10];\n"
        "    for (int i = 0; i < 10; i++) squares[i] = i * i;\n"
        "    return squares[9];\n"
        "}\n",
        "arrayIndexOutOfBounds",
        3,
        "[i] = i * i;",
    ),
    "go-vet": Sample(
        "go",
        "main.go",
        'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Printf("%d\\n", "three")\n}\n',
        'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Printf("%d\\n", 3)\n}\n',
        "printf",
        6,
        "fmt.Printf(",
    ),
    "javac": Sample(
        "java",
        "Main.java",
        "class Main {\n"
        "    public static void main(String[] args) {\n"
        "\t/* é漢 */ System.out.println(args.length / 0);\n"
        "    }\n"
        "}\n",
        "class Main {\n"
        "    public static void main(String[] args) {\n"
        "        System.out.println(args.length / 2);\n"
        "    }\n"
        "}\n",
        "divzero",
        3,
        "0);",
    ),
    "lizard": Sample(
        "python3",
        "main.py",
        f"print(1)\n\n\ndef f(x):\n{BRANCHES}    return 1\n",
        "print(1)\n\n\ndef f(x):\n    return 1\n",
        "complexity",
        4,
        "def f(x):",
    ),
    "oxlint": Sample(
        "typescript",
        "main.ts",
        "let é: number = 1; if (é === NaN) { é = 2; }\nconsole.log(é);\n",
        "let é: number = 1; if (é > 0) { é = 2; }\nconsole.log(é);\n",
        "use-isnan",
        1,
        "NaN) {",
    ),
    "ruff-check": Sample(
        "python3",
        "main.py",
        "def add(é, to=[]):\n    to.append(é)\n    return to\n\n\nprint(add(1))\n",
        "def add(é, to):\n    to.append(é)\n    return to\n\n\nprint(add(1, []))\n",
        "B006",
        1,
        "[]):",
        fixed=True,
    ),
    "shellcheck": Sample(
        "bash",
        "main.sh",
        'read -r name\necho "é漢" $name\n',
        'read -r name\necho "é漢" "$name"\n',
        "SC2086",
        2,
        "$name",
        fixed=True,
    ),
}


def test_each_analyser_has_a_sample() -> None:
    assert SAMPLES.keys() == ANALYZERS.keys()


@pytest.mark.parametrize("name", sorted(SAMPLES))
async def test_an_analyser_finds_the_mistake_of_a_program_and_none_in_a_clean_one(
    open_analyzers: Open, sarif_errors: SarifErrors, name: str
) -> None:
    """P2, X6: a tool that is not installed is reported, with how to install it."""
    sample, analyzer = SAMPLES[name], ANALYZERS[AnalyzerId(name)]
    async with open_analyzers(analyzer) as opened:
        wrong = await opened.run(sample.language, {sample.name: sample.wrong})
        clean = await opened.run(sample.language, {sample.name: sample.clean})
    assert sarif_errors(wrong) == sarif_errors(clean) == []
    [result], [other] = wrong.results, clean.results
    if result.status is ToolStatus.MISSING:
        [remark] = result.remarks
        assert analyzer.name in remark
        assert analyzer.installation in remark
        return
    assert (result.status, other.status) == (ToolStatus.OK, ToolStatus.OK), result.remarks
    [finding] = result.findings
    line = sample.wrong.splitlines()[sample.line - 1]
    assert (finding.rule, finding.file) == (sample.rule, sample.name)
    assert finding.region.start_line == sample.line
    assert line[finding.region.start_column - 1 :].startswith(sample.at)
    assert bool(finding.fix) == sample.fixed
    assert other.findings == ()
    assert result.version.startswith(tuple("0123456789"))


def test_the_tools_that_are_wheels_are_installed_for_tests() -> None:
    """They are in the development lock, so that the default run tests them."""
    wheels = [analyzer for analyzer in ANALYZERS.values() if analyzer.wheels]
    assert len(wheels) >= 6
    for analyzer in wheels:
        assert isinstance(locate_tools(analyzer, own_places()), dict), analyzer.name
