"""Takes submissions in: checked, then written with their jobs and events in one statement."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account, Role
from deemster.domain.bundle import pack
from deemster.domain.errors import Conflict, NotFound, Refused, Unavailable
from deemster.domain.ids import MINTED, SUBMISSION, ContestId, ProblemId, SubmissionId, new_id
from deemster.domain.job import PriorityClass
from deemster.domain.language import Catalogue, Language
from deemster.domain.source import Source, main_file, single, unclear_entry
from deemster.domain.submission import NewSubmission
from deemster.pipeline.accept.group_commit import GroupCommit
from deemster.store import contests
from deemster.store.artifacts import Artifacts
from deemster.store.contests import Contest
from deemster.store.inline_artifacts import SMALL_BYTES, digest_of
from deemster.store.pool import Pool, connection
from deemster.store.problems import ProblemSummary, in_force
from deemster.store.submission_inserts import AcceptAnswer, SubmissionInsert, answered, foreseen

SHEET_KEPT_S: Final = 1.0
"""A new revision, or a change of a contest, is in force everywhere after so long."""


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """What a client asks for."""

    problem: ProblemId
    language: str
    files: Mapping[str, bytes]
    """One with an empty name is `source_code`: its language finds a name for it."""
    main: str | None = None
    webhook_url: str | None = None
    idempotency_key: str | None = None
    standing: PriorityClass = PriorityClass.PRACTICE
    contest: ContestId | None = None
    """Its submissions go first, while it is open."""


class AcceptService:
    def __init__(
        self,
        pool: Pool,
        artifacts: Artifacts,
        catalogue: Catalogue,
        *,
        on_accepted: Callable[[], None],
        interval_s: float = 0.0,
        daily_quota: int | None = None,
    ) -> None:
        self._pool = pool
        self._artifacts = artifacts
        self._catalogue = catalogue
        self._on_accepted = on_accepted
        self._interval_s = interval_s
        self._daily_quota = daily_quota
        self._ferry = GroupCommit(pool, interval_s=interval_s)
        self._sheets: SingleFlightCache[ProblemId, ProblemSummary | None] = SingleFlightCache(
            self._sheet, keep_s=SHEET_KEPT_S
        )
        self._contests: SingleFlightCache[ContestId, tuple[float, Contest | None]] = (
            SingleFlightCache(self._contest, keep_s=SHEET_KEPT_S)
        )

    async def submit(self, account: Account, ask: SubmitRequest) -> AcceptAnswer:
        """The answer, and whether it is a new submission (I1). Nothing has run yet (A1)."""
        digest = request_digest(ask)
        try:
            arrival, content = await self._arrival(account, ask, digest)
            if arrival.content is None:
                await self._keep(arrival, content)
        except (Refused, Unavailable):
            # What can't be had now may have been had before, by the same key. Fresh ones,
            # which are most, are not looked for: their key meets the unique index.
            first = await self._answered(account, ask, digest)
            if first is None:
                raise
            return first
        accepted, fresh = await self._ferry.carry(arrival)
        if fresh:
            self._on_accepted()
        return accepted, fresh

    async def _arrival(
        self, account: Account, ask: SubmitRequest, digest: bytes
    ) -> tuple[SubmissionInsert, bytes]:
        """And its source, which it does not hold itself if it is large."""
        if ask.contest is not None:
            await self._enter(ask.contest, ask)
        sheet = await self._sheets.get(ask.problem)
        if sheet is None or sheet.retired:
            raise NotFound(f"There is no problem {ask.problem}: see GET /v1/problems.")
        language = self._catalogue.named(ask.language)
        source = source_of(sheet, language, ask)
        content = pack(source.files)
        new = NewSubmission(
            id=SubmissionId(new_id(SUBMISSION)),
            account=account.id,
            problem=ask.problem,
            revision=sheet.digest,
            language=language.id,
            main=source.main,
            source=digest_of(content),
            request_digest=digest,
            idempotency_key=ask.idempotency_key,
            webhook_url=ask.webhook_url,
            standing=ask.standing if ask.contest is None else PriorityClass.CONTEST,
            contest=ask.contest,
            tier=account.tier,
        )
        small = content if len(content) <= SMALL_BYTES else None
        is_paced = self._interval_s > 0 and account.role is not Role.ADMIN
        quota = account.quota(self._daily_quota)
        return SubmissionInsert(new, small, is_paced=is_paced, quota=quota), content

    async def _keep(self, arrival: SubmissionInsert, content: bytes) -> None:
        """Before its row refers to it; but what will be refused must leave nothing (D2)."""
        async with connection(self._pool) as acquired:
            found = await foreseen(acquired, arrival, self._interval_s)
        if isinstance(found, Refused):
            raise found
        if found is None:
            await self._artifacts.put(content)

    async def _answered(
        self, account: Account, ask: SubmitRequest, digest: bytes
    ) -> AcceptAnswer | None:
        if ask.idempotency_key is None:
            return None
        async with connection(self._pool) as acquired:
            return await answered(acquired, account.id, ask.idempotency_key, digest)

    async def _enter(self, contest: ContestId, ask: SubmitRequest) -> None:
        read_at, found = await self._contests.get(contest)
        if found is None:
            raise NotFound(f"There is no contest {contest}: see GET /v1/contests.")
        later_s = time.monotonic() - read_at
        if not found.has_opened(later_s) or found.has_closed(later_s):
            is_over = found.has_closed(later_s)
            raise Conflict(f"{contest} is {'over' if is_over else 'not open yet'}.")
        if ask.problem not in found.plan.problems:
            raise Refused(f"{ask.problem} is no problem of {contest}: see its problems.")

    async def _contest(self, contest: ContestId) -> tuple[float, Contest | None]:
        """And when it was read: what it says of the time is of that moment."""
        if not MINTED.fullmatch(contest):
            return 0.0, None
        async with connection(self._pool) as acquired:
            found = await contests.one(acquired, contest)
        return time.monotonic(), found

    def forget(self, problem: ProblemId) -> None:
        """It was changed in this process: what comes now finds it so."""
        self._sheets.forget(problem)

    async def _sheet(self, problem: ProblemId) -> ProblemSummary | None:
        async with connection(self._pool) as acquired:
            return await in_force(acquired, problem)


def source_of(sheet: ProblemSummary, language: Language, ask: SubmitRequest) -> Source:
    size = sum(map(len, ask.files.values()))
    if not size:
        raise Refused("The source is empty: send the program in source_code, or as files.")
    if size > sheet.source_bytes:
        raise Refused(
            f"The source has {size:,} bytes, and {sheet.id} takes {sheet.source_bytes:,}: "
            "shorten it."
        )
    allowed = (
        {name.lower() for name in sheet.languages} if sheet.languages is not None else None
    )
    if allowed is not None and allowed.isdisjoint({language.id, *language.aliases}):
        raise Refused(
            f"{sheet.id} can't be solved in {language.name}: "
            f"use {' or '.join(sorted(allowed))}."
        )
    if set(ask.files) == {""}:
        return single(language, "", ask.files[""])
    source = Source(ask.files, main=ask.main)
    if not sheet.details.get("submit_answer") and main_file(language, source) is None:
        raise Refused(unclear_entry(language, source))
    return source


def request_digest(ask: SubmitRequest) -> bytes:
    """What must be the same when a key comes again (I2): only what the client sent, as what
    we make of it may be something else by then.
    """
    files = {name: digest_of(content) for name, content in ask.files.items()}
    parts = [ask.problem, ask.language, files, ask.main, ask.webhook_url, ask.contest]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
