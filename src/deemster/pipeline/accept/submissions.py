"""Checks a submission and writes it with its outbox row and event in one statement."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account, Role
from deemster.domain.errors import Conflict, NotFound, Refused, Unavailable
from deemster.domain.ids import (
    GENERATED_ID,
    SUBMISSION,
    ContestId,
    ProblemId,
    SubmissionId,
    new_id,
)
from deemster.domain.job import PriorityClass
from deemster.domain.language import Catalogue, Language
from deemster.domain.source import (
    Source,
    check_admissible,
    main_file,
    missing_entry_message,
    pack_files,
    single_file,
)
from deemster.domain.submission import HengTask, NewSubmission
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.examples import VerificationRequest, begin_verification
from deemster.pipeline.accept.group_commit import GroupCommit
from deemster.store import contests
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.contests import Contest
from deemster.store.inline_artifacts import INLINE_MAX_BYTES, digest_of
from deemster.store.pool import Pool, connection
from deemster.store.problems import ProblemSummary, get
from deemster.store.submission_inserts import (
    InsertResult,
    SubmissionInsert,
    check_request,
    find_replay,
    insert_all,
)

SUMMARY_KEPT_S: Final = 1.0
"""Every process sees a new revision, or a changed contest, after this time at the latest."""


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    problem: ProblemId
    language: str
    files: Mapping[str, bytes]
    """An empty name stands for the field `source_code`; the language gives the file a name."""
    main: str | None = None
    webhook_url: str | None = None
    idempotency_key: str | None = None
    priority_class: PriorityClass = PriorityClass.PRACTICE
    contest: ContestId | None = None
    heng: HengTask | None = None
    """Set if a heng client sends it: only then the problem may be an unlisted one."""


class AcceptService:
    def __init__(
        self,
        pool: Pool,
        artifacts: Artifacts,
        catalogue: Catalogue,
        languages: AvailableLanguages,
        *,
        on_accepted: Callable[[], None],
        interval_s: float = 0.0,
        daily_quota: int | None = None,
    ) -> None:
        self._pool = pool
        self._artifacts = artifacts
        self._catalogue = catalogue
        self._languages = languages
        self._on_accepted = on_accepted
        self._interval_s = interval_s
        self._daily_quota = daily_quota
        self._group_commit: GroupCommit[SubmissionInsert, InsertResult] = GroupCommit(
            pool, partial(insert_all, interval_s=interval_s)
        )
        self._summaries: SingleFlightCache[ProblemId, ProblemSummary | None] = (
            SingleFlightCache(self._summary, keep_s=SUMMARY_KEPT_S)
        )
        self._contests: SingleFlightCache[ContestId, tuple[float, Contest | None]] = (
            SingleFlightCache(self._contest, keep_s=SUMMARY_KEPT_S)
        )

    async def submit(self, account: Account, request: SubmitRequest) -> InsertResult:
        """Returns the answer, and whether the submission is new (I1). Nothing runs yet (A1)."""
        digest = request_digest(request)
        try:
            insert, content = await self._prepare(account, request, digest)
            if insert.content is None:
                await self._store_large_source(insert, content)
        except (Refused, Unavailable):
            # A request that fails now may have succeeded before, with the same key. A fresh key
            # costs no extra query: the unique index decides.
            first = await self._first_answer(account, request, digest)
            if first is None:
                raise
            return first
        accepted, is_new = await self._group_commit.write(insert)
        if is_new:
            self._on_accepted()
            await asyncio.sleep(0)  # the relay is woken before the response is written
        return accepted, is_new

    async def verify(
        self, request: VerificationRequest, actor: Actor, *, again: bool = False
    ) -> None:
        """Lets the workers judge the example submissions of a revision, each once (W3)."""
        refused = dict(request.refused)
        programs = []
        for each in request.programs:
            try:
                if not request.submit_answer:
                    await self._languages.check(each.language)
                programs.append(each)
            except Refused as fault:
                refused[each.path] = str(fault)
        known = replace(request, programs=programs, refused=refused)
        if await begin_verification(self._pool, self._artifacts, known, actor, again=again):
            self._on_accepted()

    def forget(self, problem: ProblemId) -> None:
        """Makes a change of the problem by this process visible at once."""
        self._summaries.forget(problem)

    async def _prepare(
        self, account: Account, request: SubmitRequest, digest: bytes
    ) -> tuple[SubmissionInsert, bytes]:
        """Returns the insert, and the packed source; the insert holds only a small one."""
        if request.contest is not None:
            await self._check_contest(request.contest, request)
        summary = await self._summaries.get(request.problem)
        is_heng = request.heng is not None
        if (
            summary is None
            or summary.retired
            or summary.unlisted is not is_heng
            or not summary.is_open_to(account)
        ):
            raise NotFound(f"There is no problem {request.problem}: see GET /v1/problems.")
        language = self._catalogue.named(request.language)
        source = source_of(summary, language, request)
        if not summary.details.get("submit_answer"):
            await self._languages.check(language)
        content = pack_files(source.files)
        is_in_contest = request.contest is not None
        new = NewSubmission(
            id=SubmissionId(new_id(SUBMISSION)),
            account=account.id,
            problem=request.problem,
            revision=summary.digest,
            language=language.id,
            main=source.main,
            source=digest_of(content),
            request_digest=digest,
            idempotency_key=request.idempotency_key,
            webhook_url=request.webhook_url,
            priority_class=PriorityClass.CONTEST if is_in_contest else request.priority_class,
            contest=request.contest,
            tier=account.tier,
            heng=request.heng,
        )
        small = content if len(content) <= INLINE_MAX_BYTES else None
        # A heng client submits for many users, whose limits are its own business.
        is_paced = self._interval_s > 0 and account.role is not Role.ADMIN and not is_heng
        quota = None if is_heng else account.quota(self._daily_quota)
        return SubmissionInsert(new, small, is_paced=is_paced, quota=quota), content

    async def _store_large_source(self, insert: SubmissionInsert, content: bytes) -> None:
        """Runs before the insert, which refers to it; a refused request stores nothing (D2)."""
        async with connection(self._pool) as acquired:
            found = await check_request(acquired, insert, self._interval_s)
        if isinstance(found, Refused):
            raise found
        if found is None:
            await self._artifacts.put(content)

    async def _first_answer(
        self, account: Account, request: SubmitRequest, digest: bytes
    ) -> InsertResult | None:
        if request.idempotency_key is None:
            return None
        async with connection(self._pool) as acquired:
            return await find_replay(acquired, account.id, request.idempotency_key, digest)

    async def _check_contest(self, contest: ContestId, request: SubmitRequest) -> None:
        read_at, found = await self._contests.get(contest)
        if found is None:
            raise NotFound(f"There is no contest {contest}: see GET /v1/contests.")
        age_s = time.monotonic() - read_at
        if not found.has_opened(age_s) or found.has_closed(age_s):
            is_over = found.has_closed(age_s)
            raise Conflict(
                f"The contest {contest} {'is over' if is_over else 'has not started yet'}."
            )
        if request.problem not in found.plan.problems:
            raise Refused(
                f"{request.problem} is not a problem of the contest {contest}: "
                f"see GET /v1/contests/{contest}."
            )

    async def _contest(self, contest: ContestId) -> tuple[float, Contest | None]:
        """Also returns when the contest was read, because its times are relative to that."""
        if not GENERATED_ID.fullmatch(contest):
            return 0.0, None
        async with connection(self._pool) as acquired:
            found = await contests.get(acquired, contest)
        return time.monotonic(), found

    async def _summary(self, problem: ProblemId) -> ProblemSummary | None:
        async with connection(self._pool) as acquired:
            return await get(acquired, problem)


def source_of(summary: ProblemSummary, language: Language, request: SubmitRequest) -> Source:
    if not any(request.files.values()):
        raise Refused("The source is empty: send the program in source_code or files.")
    check_admissible(
        request.files,
        language,
        max_bytes=summary.source_bytes,
        allowed_languages=summary.languages,
    )
    if set(request.files) == {""}:
        return single_file(language, "", request.files[""])
    source = Source(request.files, main=request.main)
    if not summary.details.get("submit_answer") and main_file(language, source) is None:
        raise Refused(missing_entry_message(language, source))
    return source


def request_digest(request: SubmitRequest) -> bytes:
    """Identifies a request that repeats an idempotency key (I2).

    It covers only what the client sent: what Deemster derives from it may change later.
    """
    files = {name: digest_of(content) for name, content in request.files.items()}
    parts = [
        request.problem,
        request.language,
        files,
        request.main,
        request.webhook_url,
        request.contest,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
