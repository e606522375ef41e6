"""`deemster analyze` shows findings, scores and tools, as text, JSON and SARIF."""

from pathlib import Path

from tests.cli.conftest import Deemster

PROGRAM = """import os


def add(é, to=[]):
    to.append(é)
    return to


print(add(1))
"""


def test_findings_are_shown_with_their_place_and_explanation(
    call: Deemster, here: Path
) -> None:
    """P2: at 80 columns no line is longer."""
    (here / "sum.py").write_text(PROGRAM)
    done = call("analyze", "sum.py", COLUMNS="80")
    assert done.code == 1
    lines = done.out.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "sum.py:1:8 note (style) `os` imported but unused [Ruff F401]"
    assert lines[1:3] == ["   1 | import os", "              ^^"]
    text = " ".join(done.out.decode().split())
    assert "What one call adds is still there in the next call." in text
    assert "sum.py: Python 3, 2 findings." in text
    assert "Fix: Remove unused import: `os`" in text
    assert "score of 100 90 97 100 100" in text
    assert "Lizard 1." in text


def test_json_and_sarif_are_one_object_each(call: Deemster, here: Path) -> None:
    (here / "my sum.py").write_text(PROGRAM)
    found = call("analyze", "my sum.py", "--json")
    assert found.code == 1
    assert set(found.json) == {"file", "language", "scores", "findings", "tools"}
    assert found.json["scores"] == {
        "correctness": 90,
        "style": 97,
        "complexity": 100,
        "security": 100,
    }
    first = found.json["findings"][0]
    assert (first["rule"], first["line"], first["column"]) == ("F401", 1, 8)
    assert {tool["status"] for tool in found.json["tools"]} == {"ok"}
    log = call("analyze", "my sum.py", "--sarif")
    assert log.code == 1
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for run in log.json["runs"]
        for result in run["results"]
    }
    assert uris == {"my%20sum.py"}


def test_a_program_cannot_send_control_characters_to_the_terminal(
    call: Deemster, here: Path
) -> None:
    (here / "evil.py").write_text(
        "import os; x = '\x1b[31m\u202e漢'\n" + "y = 1; " * 60 + "z\n"
    )
    done = call("analyze", "evil.py", COLUMNS="80")
    assert done.code == 1
    assert b"\x1b" not in done.out
    assert "\u202e" not in done.out.decode()
    assert max(map(len, done.out.decode().splitlines())) <= 80


def test_a_language_without_an_analyser_is_refused(call: Deemster, here: Path) -> None:
    (here / "main.sql").write_text("SELECT 1;\n")
    done = call("analyze", "main.sql")
    assert (done.code, done.out) == (2, b"")
    assert "There is no analyser for SQL (SQLite)" in done.err
    assert call("analyze").code == 2
    assert call("analyze", "missing.py").code == 2


def test_the_language_can_be_given(call: Deemster, here: Path) -> None:
    """A program without findings exits with 0."""
    (here / "program").write_text("print(1)\n")
    done = call("analyze", "program", "--language", "py")
    assert (done.code, done.err) == (0, "")
    assert b"program: Python 3, no findings." in done.out


def test_the_analysers_are_listed_with_their_versions(call: Deemster) -> None:
    """J6."""
    done = call("analyze", "--tools", "--json")
    assert done.code == 0
    listed = {each["id"]: each for each in done.json["analyzers"]}
    assert listed["ruff-check"]["found"]
    assert listed["ruff-check"]["version"]
    assert listed["ruff-check"]["languages"] == ["pypy3", "python3"]
    missing = [each for each in listed.values() if not each["found"]]
    assert all(each["problem"] for each in missing)
    needed = {name for each in missing for name in each["install"].split()}
    packages = set(call("analyze", "--packages").out.decode().split())
    assert packages <= needed
    assert bool(packages) == bool(missing)
