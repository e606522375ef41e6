"""Runs real analysers in real sandboxes, and checks SARIF against its schema."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deemster.domain.analysis import Analysis, Analyzer, ToolResult
from deemster.domain.source import Source
from deemster.pipeline.analyze.analysis import AnalysisTools, analyze
from deemster.pipeline.analyze.analyzers import load_analyzers
from deemster.pipeline.analyze.sarif_writer import sarif_log, to_json
from deemster.programs.build.languages import load_catalogue
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.analyzing import open_analysis
from tests.sarif_schema import sarif_checker

ANALYZERS = {analyzer.id: analyzer for analyzer in load_analyzers()}


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
    errors_of = sarif_checker()
    return lambda analysis: errors_of(json.loads(to_json(sarif_log(analysis))))
