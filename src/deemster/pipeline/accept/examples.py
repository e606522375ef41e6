"""Writes the example submissions of a package, which the workers judge to verify it (W3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deemster.domain.ids import ProblemId, RevisionDigest
from deemster.domain.language import Language
from deemster.domain.source import Source, pack_files
from deemster.store import audit, verifications
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.inline_artifacts import prepare
from deemster.store.pool import Pool, transaction
from deemster.store.verifications import NewExample


@dataclass(frozen=True, slots=True)
class ExampleProgram:
    path: str
    language: Language
    source: Source


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    problem: ProblemId
    revision: RevisionDigest
    programs: Sequence[ExampleProgram]
    refused: Mapping[str, str]
    """By path of an example: why it can't be judged."""
    submit_answer: bool = False
    """The examples are answers, which need no toolchain."""


async def begin_verification(
    pool: Pool, artifacts: Artifacts, request: VerificationRequest, actor: Actor, *, again: bool
) -> bool:
    """Returns False, and writes nothing, if this revision has a verification (I1).

    With `again`, a verification that has ended is replaced.
    """
    assert actor.account is not None, "only users verify problems on the server"
    kept = [
        await prepare(artifacts, pack_files(each.source.files)) for each in request.programs
    ]
    examples = [
        NewExample(each.path, each.language.id, each.source.main, artifact.digest)
        for each, artifact in zip(request.programs, kept, strict=True)
    ]
    async with transaction(pool) as writing:
        if again:
            await verifications.remove_ended(writing, request.problem, request.revision)
        is_new = await verifications.add(
            writing,
            request.problem,
            request.revision,
            actor.account,
            examples,
            request.refused,
        )
        if not is_new:
            return False
        for artifact in kept:
            await artifact.write(writing)
        await audit.record(
            writing, actor, "problem.verify", request.problem, digest=request.revision
        )
    return True
