"""P2: a program is analysed by all tools of its language; results are cached and are SARIF."""

import json
from dataclasses import replace
from pathlib import Path

from deemster.domain.analysis import AnalyzerId, Category, ToolStatus
from deemster.pipeline.analyze.installed import InstalledAnalyzer
from deemster.pipeline.analyze.sarif_writer import sarif_log, to_json
from deemster.settings import Settings
from deemster.wiring.analyzing import open_analysis
from tests.pipeline.analyze.conftest import ANALYZERS, Open, OpenAnalysis, SarifErrors

RUFF, LIZARD = ANALYZERS[AnalyzerId("ruff-check")], ANALYZERS[AnalyzerId("lizard")]
UNUSED = "import os\n"


async def test_a_missing_tool_is_reported_by_name_and_the_others_run(
    open_analyzers: Open, sarif_errors: SarifErrors
) -> None:
    absent = replace(RUFF, tools={"ruff": ("{scripts}/deemster-no-such-tool",)})
    async with open_analyzers(absent, LIZARD) as opened:
        analysis = await opened.run("python3", {"main.py": UNUSED})
    assert [result.status for result in analysis.results] == [ToolStatus.MISSING, ToolStatus.OK]
    [remark] = analysis.results[0].remarks
    assert remark.startswith("Ruff needs deemster-no-such-tool, which is not installed: ")
    assert remark.endswith("install it with `pip install 'deemster[analyzers]'`.")
    assert analysis.scores[Category.STYLE] is None
    assert analysis.scores[Category.COMPLEXITY] == 100
    assert sarif_errors(analysis) == []
    run = json.loads(to_json(sarif_log(analysis)))["runs"][0]
    assert "version" not in run["tool"]["driver"]
    assert run["properties"] == {"status": "missing"}
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    [notification] = invocation["toolExecutionNotifications"]
    assert "not installed" in notification["message"]["text"]


async def test_a_sarif_log_has_rule_level_place_explanation_fix_and_score(
    open_analyzers: Open, sarif_errors: SarifErrors
) -> None:
    async with open_analyzers(RUFF) as opened:
        analysis = await opened.run("python3", {"a b.py": "x = 1\n" + UNUSED + "print(x)\n"})
    assert sarif_errors(analysis) == []
    log = json.loads(to_json(sarif_log(analysis)))
    assert (log["version"], log["properties"]) == (
        "2.1.0",
        {
            "language": "python3",
            "scores": {"correctness": 100, "style": 97, "complexity": None, "security": 100},
        },
    )
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("Ruff", analysis.results[0].version)
    [result] = run["results"]
    rule = driver["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "F401"
    assert rule["help"]["text"] == RUFF.rules[analysis.results[0].findings[0].rule].explanation
    assert (result["level"], result["properties"]["category"]) == ("note", "style")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b.py"}
    assert place["region"] == {
        "startLine": 2,
        "startColumn": 8,
        "endLine": 2,
        "endColumn": 10,
    }
    [change] = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["deletedRegion"]["startLine"] == 2
    assert run["artifacts"][0]["location"] == {"uri": "a%20b.py"}


async def test_files_that_the_problem_added_are_read_but_not_reported(
    open_analyzers: Open,
) -> None:
    files = {
        "main.c": '#include "grader.h"\nint main(void) { int unused; return answer(); }\n',
        "grader.h": "static int answer(void) { int left; return 42; }\n",
        "own.h": "#define X 1\n",
    }
    async with open_analyzers(ANALYZERS[AnalyzerId("clang-tidy")]) as opened:
        everything = await opened.run("c", files)
        own = await opened.run("c", files, included=frozenset({"grader.h"}))
    assert {each.file for _, each in everything.findings()} == {"main.c", "grader.h"}
    assert {each.file for _, each in own.findings()} == {"main.c"}
    assert set(own.files) == {"main.c", "own.h"}


async def test_a_program_without_a_source_of_its_language_is_a_result(
    open_analyzers: Open,
) -> None:
    async with open_analyzers(RUFF) as opened:
        result = await opened.run_one("python3", {"notes.txt": "x"})
    assert result.status is ToolStatus.FAILED
    assert result.remarks == ("None of the files is Python 3 source.",)


# ---- the cache ----


async def test_a_result_is_cached_by_source_and_tool_version(open_analyzers: Open) -> None:
    async with open_analyzers(RUFF) as opened:
        first = await opened.run_one("python3", {"main.py": UNUSED})
        again = await opened.run_one("python3", {"main.py": UNUSED})
        other = await opened.run_one("python3", {"main.py": UNUSED + "\n"})
        renamed = await opened.run_one("python3", {"other.py": UNUSED})
        [installed] = opened.tools.analyzers
        assert isinstance(installed, InstalledAnalyzer)
        upgraded = replace(installed, found=replace(installed.found, version="99.0"))
        newer = await with_tool(opened, upgraded).run_one("python3", {"main.py": UNUSED})
    assert (first.from_cache, again.from_cache) == (False, True)
    assert again == replace(first, from_cache=True)
    assert not any(each.from_cache for each in (other, renamed, newer))
    assert newer.version == "99.0"


def with_tool(opened: OpenAnalysis, installed: InstalledAnalyzer) -> OpenAnalysis:
    return OpenAnalysis(opened.boxes, replace(opened.tools, analyzers=[installed]))


async def test_the_cache_outlives_the_process_and_survives_damage(
    open_analyzers: Open, settings: Settings
) -> None:
    async with open_analyzers(RUFF) as opened:
        first = await opened.run_one("python3", {"main.py": UNUSED})
    async with open_analyzers(RUFF) as opened:
        assert (await opened.run_one("python3", {"main.py": UNUSED})).from_cache
    for manifest in settings.data_dir.rglob("manifest"):
        manifest.write_bytes(b"damaged")
    async with open_analyzers(RUFF) as opened:
        assert await opened.run_one("python3", {"main.py": UNUSED}) == first


async def test_another_explanation_does_not_make_the_cache_stale(open_analyzers: Open) -> None:
    rules = {name: replace(rule, explanation="New.") for name, rule in RUFF.rules.items()}
    async with open_analyzers(RUFF) as opened:
        await opened.run("python3", {"main.py": UNUSED})
    async with open_analyzers(replace(RUFF, rules=rules)) as opened:
        analysis = await opened.run("python3", {"main.py": UNUSED})
    assert analysis.results[0].from_cache
    assert [rule.explanation for rule, _ in analysis.findings()] == ["New."]


async def test_a_failure_is_not_cached(open_analyzers: Open) -> None:
    broken = replace(RUFF, argv=("{ruff}", "no-such-command"))
    async with open_analyzers(broken) as opened:
        for _ in range(2):
            result = await opened.run_one("python3", {"main.py": UNUSED})
            assert (result.status, result.from_cache) == (ToolStatus.FAILED, False)


async def test_a_directory_that_cannot_be_written_only_costs_time(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    changed = settings.model_copy(update={"data_dir": tmp_path / "file"})
    async with open_analysis(changed, [RUFF]) as (boxes, tools):
        opened = OpenAnalysis(boxes, tools)
        result = await opened.run_one("python3", {"main.py": UNUSED})
    assert result.status is ToolStatus.OK


async def test_a_tool_that_changed_after_the_start_is_not_used(
    open_analyzers: Open, shown_directory: Path
) -> None:
    """J6: the version in a result is that of the tool that made it."""
    script = shown_directory / "tool"
    script.write_text("#!/bin/sh\necho ruff 1.0\n")
    script.chmod(0o755)
    async with open_analyzers(replace(RUFF, tools={"ruff": (str(script),)})) as opened:
        script.write_text("#!/bin/sh\necho ruff 2.0 and more\n")
        result = await opened.run_one("python3", {"main.py": UNUSED})
    assert result.status is ToolStatus.MISSING
    assert result.remarks == ("Ruff has changed since Deemster started: restart Deemster.",)


async def test_a_tool_that_the_sandbox_may_not_start_is_a_result(
    open_analyzers: Open, tmp_path: Path
) -> None:
    """X12: its files are readable for their owner only, so it can't tell its version."""
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\necho ruff 1.0\n")
    script.chmod(0o700)
    async with open_analyzers(replace(RUFF, tools={"ruff": (str(script),)})) as opened:
        result = await opened.run_one("python3", {"main.py": UNUSED})
    assert result.status is ToolStatus.MISSING
    assert "printed no version" in result.remarks[0]


def test_the_languages_of_courses_and_contests_have_an_analyser() -> None:
    assert {name for each in ANALYZERS.values() for name in each.languages} >= {
        *("bash", "c", "cpp", "cpp17", "cpp23", "go", "java", "javascript"),
        *("pypy3", "python3", "rust", "typescript"),
    }
