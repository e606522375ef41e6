"""Writes the stages and the output of a program as messages of Piston's WebSocket."""

import codecs
from collections.abc import Iterator
from typing import ClassVar

from deemster.api.compat.piston_stages import ending, stage_of_compiler
from deemster.api.compat.request_json import Object
from deemster.api.compat.runnable_languages import compiles
from deemster.api.feed.live_output import LiveEvent
from deemster.domain.errors import DeemsterError
from deemster.domain.execution import (
    CompileResult,
    ExecutionView,
    OutputChunk,
    Stream,
    error_of,
)
from deemster.domain.language import Language
from deemster.domain.lifecycle import TERMINAL, State
from deemster.domain.run_status import RunStatus

COMPILE, RUN = "compile", "run"


class ProgramFailed(DeemsterError):
    """The judge could not run the program, or someone cancelled it."""

    code: ClassVar[str] = "program_failed"


class StagedOutput:
    """Output may be read before it is known that the program was compiled: it waits then."""

    def __init__(self, language: Language) -> None:
        self._compiles = compiles(language)
        self.has_ended = False
        self._stage: str | None = None
        self._waiting: list[OutputChunk] = []
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {each: decoder("replace") for each in Stream}

    def messages_of(self, event: LiveEvent) -> Iterator[Object]:
        if isinstance(event, OutputChunk):
            yield from self._output(event)
        elif isinstance(event, CompileResult):
            yield from self._start()
            yield from self._compiled(event)
        elif event is not None and event.state in TERMINAL:
            self.has_ended = True
            yield from self._end(event)
        elif event is not None and event.state is State.RUNNING:
            yield from self._start()

    def _start(self) -> Iterator[Object]:
        if self._stage is None:
            yield from self._enter(COMPILE if self._compiles else RUN)

    def _enter(self, stage: str) -> Iterator[Object]:
        self._stage = stage
        yield {"type": "stage", "stage": stage}

    def _compiled(self, result: CompileResult, *, failed: bool = False) -> Iterator[Object]:
        if self._stage != COMPILE:
            return
        yield from data(Stream.STDERR, result.output)
        yield exit_of(COMPILE, stage_of_compiler(result, failed=failed))
        if not failed:
            yield from self._enter(RUN)
            for chunk in self._waiting:
                yield from self._output(chunk)

    def _output(self, chunk: OutputChunk) -> Iterator[Object]:
        if self._stage != RUN:
            self._waiting.append(chunk)
            return
        yield from data(chunk.stream, self._decoders[chunk.stream].decode(chunk.content))

    def _end(self, view: ExecutionView) -> Iterator[Object]:
        result = view.result
        if result is None or result.status in {RunStatus.INTERNAL_ERROR, RunStatus.CANCELLED}:
            error = error_of(view)
            raise ProgramFailed(error[1] if error else "The execution was cancelled.")
        yield from self._start()
        compiled = result.compile or CompileResult(RunStatus.OK, "", 0)
        if result.status is not RunStatus.COMPILE_ERROR:
            yield from self._compiled(compiled)
            for stream, decoder in self._decoders.items():
                yield from data(stream, decoder.decode(b"", final=True))
            yield exit_of(RUN, ending(result, view))
        elif self._compiles:
            yield from self._compiled(compiled, failed=True)
        else:
            # Piston knows no checks of the syntax: the interpreter finds the error.
            yield from data(Stream.STDERR, compiled.output)
            yield exit_of(RUN, stage_of_compiler(compiled, failed=True))


def data(stream: Stream, text: str) -> Iterator[Object]:
    if text:
        yield {"type": "data", "stream": stream.name.lower(), "data": text}


def exit_of(stage: str, ended: Object) -> Object:
    return {
        "type": "exit",
        "stage": stage,
        "code": ended["code"],
        "signal": ended["signal"],
    }
