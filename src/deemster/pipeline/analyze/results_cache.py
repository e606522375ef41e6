"""Keeps the findings of analysers on disk, by the source's hash and the tool's version."""

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from deemster.domain.analysis import Finding, ToolResult, ToolStatus
from deemster.pipeline.analyze.tool_run import ToolRequest
from deemster.programs.build.cache import DirectoryCache
from deemster.programs.build.cache_key import cache_key, file_facts, step_facts
from deemster.programs.build.toolchain import stamps_of

log = logging.getLogger(__name__)

FORMAT = 1
"""Raise this when the code that reads a tool's output changes."""
FINDINGS = TypeAdapter(tuple[Finding, ...])
REMARKS = TypeAdapter(tuple[str, ...])


class ResultsCache:
    """All methods block: call them in a thread. A full disk only costs time."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        """With `max_bytes` 0 nothing is kept."""
        self._cache = DirectoryCache(directory, max_bytes) if max_bytes else None

    def open(self) -> None:
        try:
            if self._cache is not None:
                self._cache.open()
        except OSError as fault:
            log.warning("Analyses can't be cached: %s.", fault.strerror)
            self._cache = None

    def get(self, request: ToolRequest) -> ToolResult | None:
        entry = self._cache.take(key_of(request)) if self._cache is not None else None
        if entry is None:
            return None
        try:
            return read_record(request, entry.record)
        except ValidationError:  # of another version of Deemster
            return None
        finally:
            entry.release()

    def put(self, request: ToolRequest, result: ToolResult) -> None:
        """Keeps only results that another run would repeat."""
        if self._cache is None or result.status is not ToolStatus.OK:
            return
        record: dict[str, JsonValue] = {
            "findings": FINDINGS.dump_python(result.findings, mode="json"),
            "remarks": list(result.remarks),
        }
        with suppress(OSError):
            self._cache.keep(key_of(request), record, None, threading.Event())


def read_record(request: ToolRequest, record: Mapping[str, JsonValue]) -> ToolResult:
    return ToolResult(
        analyzer=request.analyzer,
        status=ToolStatus.OK,
        version=request.installed.version,
        findings=FINDINGS.validate_python(record.get("findings")),
        remarks=REMARKS.validate_python(record.get("remarks")),
        from_cache=True,
    )


def key_of(request: ToolRequest) -> str:
    """A hash of everything that determines the findings, but not of the rules' explanations."""
    analyzer, found = request.analyzer, request.installed.found
    return cache_key(
        findings=FORMAT,
        analyzer=analyzer.id,
        version=found.version,
        tools=[*found.paths.items(), stamps_of(found.paths.values())],
        argv=request.argv,
        files=file_facts(request.files),
        reported=sorted(request.reported),
        configuration=file_facts(analyzer.files),
        sandbox=step_facts(analyzer.permissions, analyzer.limits, analyzer.environment),
        rules=sorted((rule.id, str(rule.measure)) for rule in analyzer.rules.values()),
        suppressions=analyzer.suppressions,
        output=str(analyzer.output),
    )
