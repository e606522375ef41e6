"""Checks an execution against the operator's ceiling, and writes it with its job and event."""

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from deemster.domain.account import Account
from deemster.domain.errors import Refused, Unavailable
from deemster.domain.execution import (
    SOURCE_BYTES,
    AcceptedExecution,
    ExecutionLimits,
    ExecutionOptions,
    NewExecution,
    ProgramIo,
    lower_of,
)
from deemster.domain.ids import CodeSessionId, ExecutionId, new_execution_id
from deemster.domain.language import Catalogue, Language
from deemster.domain.limits import MIB
from deemster.domain.source import (
    Source,
    check_admissible,
    main_file,
    missing_entry_message,
    pack_files,
    single_file,
)
from deemster.domain.webhook import WebhookFormat
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.group_commit import GroupCommit
from deemster.store import executions
from deemster.store.executions import ExecutionInsert
from deemster.store.pool import Pool, connection

STDIN_BYTES: Final = 16 * MIB
MAX_ARGS: Final = 256
ARGS_BYTES: Final = 64 * 1024
MAX_RUNS: Final = 20


@dataclass(frozen=True, slots=True)
class ExecuteRequest:
    language: str
    files: Mapping[str, bytes]
    """An empty name stands for the field `source_code`; the language gives the file a name."""
    main: str | None = None
    stdin: bytes = b""
    args: Sequence[str] = ()
    io: ProgramIo = ProgramIo.BATCH
    limits: ExecutionLimits = field(default_factory=ExecutionLimits)
    options: ExecutionOptions = field(default_factory=ExecutionOptions)
    client: Mapping[str, Any] | None = None
    webhook_url: str | None = None
    webhook_format: WebhookFormat = WebhookFormat.STANDARD
    idempotency_key: str | None = None
    session: CodeSessionId | None = None


class ExecutionAccept:
    def __init__(
        self,
        pool: Pool,
        catalogue: Catalogue,
        languages: AvailableLanguages,
        *,
        most: ExecutionLimits,
        live_wall_ms: int | None = None,
        on_accepted: Callable[[], None],
    ) -> None:
        """`live_wall_ms` replaces the ceiling's wall time if input is typed."""
        self._pool = pool
        self._catalogue = catalogue
        self._languages = languages
        self.most = most
        """The operator's ceiling."""
        self.default_limits = lower_of(ExecutionLimits(), most)
        self._live_wall_ms = live_wall_ms or most.wall_ms
        self._on_accepted = on_accepted
        self._group_commit: GroupCommit[NewExecution, ExecutionInsert] = GroupCommit(
            pool, executions.insert_all
        )

    async def execute(self, account: Account, request: ExecuteRequest) -> ExecutionInsert:
        """Returns the answer, and whether the execution is new (I1). Nothing runs yet."""
        digest = request_digest(request)
        try:
            new = self._prepare(account, request, digest)
            await self._languages.check(self._catalogue.named(request.language), request.io)
        except (Refused, Unavailable):
            # A request that fails now may have succeeded before, with the same key.
            first = await self.first_answer(account, request)
            if first is None:
                raise
            return first, False
        accepted, is_new = await self._group_commit.write(new)
        if is_new:
            self._on_accepted()
            await asyncio.sleep(0)  # the relay is woken before the response is written
        return accepted, is_new

    async def start_language_server(
        self, account: Account, language: Language, limits: ExecutionLimits
    ) -> ExecutionId:
        """The server runs later, and gets the program of the user as messages."""
        io = ProgramIo.LANGUAGE_SERVER
        await self._languages.check(language, io)
        new = NewExecution(
            id=new_execution_id(),
            account=account.id,
            language=language.id,
            main=language.source.file,
            files=pack_files({language.source.file: b""}),
            request_digest=hashlib.sha256(io.encode()).digest(),
            io=io,
            limits=limits,
        )
        accepted, _ = await self._group_commit.write(new)
        self._on_accepted()
        return accepted.id

    def default_for(self, io: ProgramIo) -> ExecutionLimits:
        default = self.default_limits
        live = dataclasses.replace(default, wall_ms=self._live_wall_ms)
        return default if io is ProgramIo.BATCH else live

    def ceiling_for(self, io: ProgramIo) -> ExecutionLimits:
        live = dataclasses.replace(self.most, wall_ms=self._live_wall_ms)
        return self.most if io is ProgramIo.BATCH else live

    def _prepare(
        self, account: Account, request: ExecuteRequest, digest: bytes
    ) -> NewExecution:
        language = self._catalogue.named(request.language)
        source = source_of(language, request)
        check_limits(request.limits, self.ceiling_for(request.io))
        check_input(request)
        return NewExecution(
            id=new_execution_id(),
            account=account.id,
            language=language.id,
            main=source.main,
            files=pack_files(source.files),
            request_digest=digest,
            stdin=request.stdin,
            args=request.args,
            io=request.io,
            limits=dataclasses.replace(request.limits, cores=self.most.cores),
            options=request.options,
            client=request.client,
            idempotency_key=request.idempotency_key,
            webhook_url=request.webhook_url,
            webhook_format=request.webhook_format,
            session=request.session,
        )

    async def first_answer(
        self, account: Account, request: ExecuteRequest
    ) -> AcceptedExecution | None:
        """What the request got before, with the same key."""
        if request.idempotency_key is None:
            return None
        async with connection(self._pool) as acquired:
            found = await executions.find_replay(
                acquired, account.id, request.idempotency_key, request_digest(request)
            )
        if isinstance(found, Refused):
            raise found
        return found[0] if found else None


def source_of(language: Language, request: ExecuteRequest) -> Source:
    if not any(request.files.values()):
        raise Refused("The source is empty: send the program in source_code or files.")
    check_admissible(request.files, language, max_bytes=SOURCE_BYTES, allowed_languages=None)
    if set(request.files) == {""}:
        return single_file(language, "", request.files[""])
    source = Source(request.files, main=request.main, max_bytes=SOURCE_BYTES)
    if main_file(language, source) is None:
        raise Refused(missing_entry_message(language, source))
    return source


def check_limits(asked: ExecutionLimits, most: ExecutionLimits) -> None:
    """Refuses a limit above the operator's ceiling, and names it."""
    for name, unit, scale in LIMIT_UNITS:
        value, ceiling = getattr(asked, name), getattr(most, name)
        if value > ceiling:
            raise Refused(
                f"The limit {name} is {value / scale:g}{unit}, but at most "
                f"{ceiling / scale:g}{unit} are allowed here."
            )


LIMIT_UNITS: Final = (
    ("wall_ms", " ms", 1),
    ("cpu_ms", " ms", 1),
    ("memory_bytes", " MB", MIB),
    ("processes", "", 1),
    ("output_bytes", " bytes", 1),
    ("file_bytes", " MB", MIB),
    ("stack_bytes", " MB", MIB),
)


def check_input(request: ExecuteRequest) -> None:
    if len(request.stdin) > STDIN_BYTES:
        raise Refused(f"The input is larger than {STDIN_BYTES // MIB} MB.")
    if not 1 <= request.options.runs <= MAX_RUNS:
        raise Refused(f"A program is run 1 to {MAX_RUNS} times.")
    options = request.options
    for what, args in (
        ("arguments", request.args),
        ("arguments of the compiler", options.compile_args),
        ("arguments of the interpreter", options.interpreter_args),
        ("files to return", options.return_files),
    ):
        if len(args) > MAX_ARGS or sum(len(each.encode()) for each in args) > ARGS_BYTES:
            raise Refused(
                f"There are too many {what}: at most {MAX_ARGS}, and {ARGS_BYTES} bytes."
            )
        if any("\0" in each for each in args):
            raise Refused(f"The {what} contain a NUL character.")


def request_digest(request: ExecuteRequest) -> bytes:
    """Identifies a request that repeats an idempotency key (I2)."""
    parts = [
        "execution",
        *source_parts(request),
        request.main,
        hashlib.sha256(request.stdin).hexdigest(),
        list(request.args),
        request.io,
        dataclasses.asdict(request.limits),
        dataclasses.asdict(request.options),
        request.webhook_url,
        request.session,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def source_parts(request: ExecuteRequest) -> list[Any]:
    if request.session is not None:
        return []  # a repeat is the same request, though the session was edited meanwhile
    files = request.files.items()
    return [request.language, {name: hashlib.sha256(each).hexdigest() for name, each in files}]
