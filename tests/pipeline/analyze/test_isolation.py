"""An analyser reaches neither the network nor other files, and obeys no file of the program."""

import json
from dataclasses import replace

import pytest

from deemster.domain.analysis import Analyzer, AnalyzerId, ToolResult, ToolStatus
from deemster.domain.language import LanguageId
from deemster.domain.limits import Limits
from tests.pipeline.analyze.conftest import ANALYZERS, Open

UNUSED_IMPORT = "import os\n"


def tool_running(script: str, **changes: object) -> Analyzer:
    """An analyser of Python whose command is the script; its result is SARIF."""
    ruff = ANALYZERS[AnalyzerId("ruff-check")]
    return replace(
        ruff,
        tools={"interpreter": ("python3",)},
        mounts=(),
        shows_like=(LanguageId("python3"),),
        version=replace(ruff.version, argv=("{interpreter}", "--version"), pattern=r"(\d\S+)"),
        argv=("{interpreter}", "-I", "-c", script, "{sources}"),
        limits=Limits(cpu_ms=500, wall_ms=20_000, output_bytes=1 << 20),
        **changes,  # type: ignore[arg-type]
    )


async def run_script(open_analyzers: Open, script: str, **changes: object) -> ToolResult:
    async with open_analyzers(tool_running(script, **changes)) as opened:
        return await opened.run_one("python3", {"main.py": UNUSED_IMPORT, "secret.txt": "x"})


SAY = """
import json, sys
def say(message):
    place = {"artifactLocation": {"uri": sys.argv[1]}, "region": {"startLine": 1}}
    result = {"ruleId": "F401", "message": {"text": message},
              "locations": [{"physicalLocation": place}]}
    print(json.dumps({"runs": [{"results": [result]}]}))
"""


async def test_x3_a_tool_that_opens_a_socket_is_ended(open_analyzers: Open) -> None:
    """X3, X4, X6."""
    script = "import socket; socket.create_connection(('127.0.0.1', 22))"
    result = await run_script(open_analyzers, script)
    assert result.status is ToolStatus.FAILED
    assert result.remarks == ("Ruff used the forbidden system call socket.",)
    assert result.findings == ()


async def test_x6_a_tool_can_start_no_other_program(open_analyzers: Open) -> None:
    result = await run_script(open_analyzers, "import os; os.execv('/bin/sh', ['sh'])")
    assert result.remarks == ("Ruff used the forbidden system call execve.",)


async def test_x2_a_tool_sees_only_the_sources_and_its_own_files(open_analyzers: Open) -> None:
    """Not the environment in which Deemster and the wheels are installed, nor its data."""
    script = f"""{SAY}
import os
skipped = ("/proc", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/dev")
seen = []
for above, names, files in os.walk("/"):
    names[:] = [name for name in names if os.path.join(above, name) not in skipped]
    seen += [os.path.join(above, name) for name in files]
seen = [path for path in seen if path not in skipped]  # a link to nothing counts as a file
say(" ".join(sorted(path for path in seen if not path.startswith("/etc/"))))
"""
    ruff = ANALYZERS[AnalyzerId("ruff-check")]
    result = await run_script(open_analyzers, script, files={"rules.cfg": b"x"})
    [finding] = result.findings
    assert finding.message.split() == ["main.py", "/data/rules.cfg"]
    async with open_analyzers(tool_running(script), replace(ruff, languages={})) as opened:
        [result] = (await opened.run("python3", {"main.py": UNUSED_IMPORT})).results
    [finding] = result.findings
    assert finding.message.split() == ["main.py"]  # nothing of the other tool


async def test_x2_a_tool_can_change_nothing(open_analyzers: Open) -> None:
    script = f"""{SAY}
import os
refused = []
for path in ("/code/main.py", "/opt/deemster/ruff-check/ruff", "/usr/bin/python3", "/data/x"):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    except OSError as fault:
        refused.append(path)
say(str(len(refused)))
"""
    result = await run_script(open_analyzers, script)
    assert [finding.message for finding in result.findings] == ["4"]


PLANTED = {
    "ruff-check": {
        "ruff.toml": '[lint]\nselect = ["ALL"]\nignore = ["F401"]\n',
        ".ruff.toml": 'exclude = ["*"]\n',
        "pyproject.toml": '[tool.ruff]\nextend = "/etc/passwd"\n',
        ".gitignore": "*\n",
    },
    "clang-tidy": {
        ".clang-tidy": "Checks: '-*'\n",
        "compile_commands.json": '[{"directory": "/", "command": "x", "file": "main.c"}]',
        "compile_flags.txt": "-w\n",
    },
    "cppcheck": {
        "main.cppcheck": "<project/>",
        "suppressions.txt": "*\n",
        "main.suppr": "*\n",
    },
    "oxlint": {
        ".oxlintrc.json": json.dumps({"rules": {"use-isnan": "off"}}),
        ".eslintignore": "*\n",
        ".gitignore": "*\n",
        "package.json": "{}",
        "tsconfig.json": '{"extends": "/etc/passwd"}',
    },
    "shellcheck": {".shellcheckrc": "disable=all\n"},
    "lizard": {"whitelizard.txt": "*\n", ".gitignore": "*\n"},
}
BRANCHES = "".join(f"    if x == {number}: return 0\n" for number in range(16))
MISTAKES = {
    "ruff-check": ("python3", "main.py", "import os  # noqa\n# ruff: noqa\n", "F401"),
    "clang-tidy": (
        "c",
        "main.c",
        "int main(void) {\n    int x;\n    // NOLINTNEXTLINE\n    return x; // NOLINT\n}\n",
        "clang-diagnostic-uninitialized",
    ),
    "cppcheck": (
        "c",
        "main.c",
        "int main(void) {\n    int a[2];\n    // cppcheck-suppress *\n    a[2] = 1;\n}\n",
        "arrayIndexOutOfBounds",
    ),
    "oxlint": (
        "javascript",
        "main.js",
        "/* eslint-disable */ // oxlint-disable\nconsole.log(1 === NaN); // eslint-disable",
        "use-isnan",
    ),
    "shellcheck": (
        "bash",
        "main.sh",
        "# shellcheck disable=all\nread -r x\n# shellcheck disable=SC2086\necho $x\n",
        "SC2086",
    ),
    "lizard": (
        "python3",
        "main.py",
        f"# GENERATED CODE\ndef f(x):\n    #lizard forgives\n{BRANCHES}    return 1\n",
        "complexity",
    ),
}


@pytest.mark.parametrize("name", sorted(PLANTED))
async def test_no_file_and_no_comment_of_the_program_turns_a_rule_off(
    open_analyzers: Open, name: str
) -> None:
    """A configuration among the submitted files has no effect, and can't name other files."""
    language, main, text, rule = MISTAKES[name]
    async with open_analyzers(ANALYZERS[AnalyzerId(name)]) as opened:
        result = await opened.run_one(language, {main: text, **PLANTED[name]})
    assert result.status is ToolStatus.OK, result.remarks
    assert rule in {finding.rule for finding in result.findings}


async def test_an_include_of_a_file_outside_shows_nothing_of_it(open_analyzers: Open) -> None:
    """X7: the compiler's messages quote what they read."""
    async with open_analyzers(ANALYZERS[AnalyzerId("clang-tidy")]) as opened:
        text = '#include "/etc/passwd"\n#include "/etc/shadow"\nint main(void) {}\n'
        result = await opened.run_one("c", {"main.c": text})
    assert result.findings
    assert {finding.file for finding in result.findings} == {"main.c"}
    assert "root" not in " ".join(finding.message for finding in result.findings)


HOSTILE = {
    "prints nothing": "pass",
    "prints no JSON": "print('hello')",
    "prints half of it": 'print(\'{"runs": [{"results": [{\')',
    "nests deeply": "print('[' * 200_000)",
    "prints too much": "while True: print('x' * 1000)",
    "runs too long": "while True: pass",
    "fails": "raise SystemExit(7)",
    "is killed": "import os; os.abort()",
    "fails without a finding": "print('{\"runs\": []}'); raise SystemExit(1)",
}


@pytest.mark.parametrize("case", sorted(HOSTILE))
async def test_j2_whatever_a_tool_does_is_a_result(open_analyzers: Open, case: str) -> None:
    """J2, X12: it never raises, and never looks like a clean program."""
    async with open_analyzers(tool_running(HOSTILE[case])) as opened:
        analysis = await opened.run("python3", {"main.py": UNUSED_IMPORT})
    [result] = analysis.results
    assert result.status is ToolStatus.FAILED
    [remark] = result.remarks
    assert remark.startswith(("Ruff ", "The result of Ruff "))
    assert set(analysis.scores.values()) == {None}


@pytest.mark.parametrize(
    "trick",
    [
        "os.symlink('/etc/passwd', 'fixes.yaml')",
        "os.mkfifo('fixes.yaml')",
        "os.mkdir('fixes.yaml')",
        "open('x', 'w').close(); os.link('x', 'fixes.yaml')",
        "open('fixes.yaml', 'w').truncate(9 << 20)",
    ],
)
async def test_a_result_file_must_be_a_plain_file(open_analyzers: Open, trick: str) -> None:
    """A link to a file of the host is never followed."""
    output = replace(ANALYZERS[AnalyzerId("clang-tidy")].output)
    result = await run_script(open_analyzers, f"import os; {trick}", output=output)
    assert result.status is ToolStatus.FAILED
    assert result.remarks == ("The result of Ruff is not a file of at most 1 MB.",)


async def test_findings_in_other_files_than_the_program_s_are_left_out(
    open_analyzers: Open,
) -> None:
    script = """
import json
places = [("/etc/passwd", 1), ("../../etc/passwd", 1), ("file:///code/../etc/passwd", 1),
          ("/code/main.py", 99), ("/code/main.py", 0), ("/code/main.py", -1), ("", 1),
          ("/code/main.py", 10**40), ("\\x00", 1), ("/code/main.py", 1)]
print(json.dumps({"runs": [{"results": [
    {"ruleId": "F401", "message": {"text": "\\x1b[31m red \\u202e back"}, "locations": [
        {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}
    ]} for uri, line in places
]}]}))
"""
    result = await run_script(open_analyzers, script)
    [finding] = result.findings
    assert (finding.file, finding.region.start_line) == ("main.py", 1)
    assert finding.message.isprintable()
    assert result.remarks == ("Left out: 9 in places that the program does not have.",)
