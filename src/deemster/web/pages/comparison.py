"""`/submissions/compare`: what changed between two submissions."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from deemster.api.models.submissions import SourceOut, SubmissionOut
from deemster.api.submissions import cached_submission, previous_submission, read_source
from deemster.domain.errors import NotFound
from deemster.domain.text_diff import unified_diff
from deemster.web.page import PageRequest, page_route

COMPARE: Final = "/submissions/compare"
KINDS: Final = {"+": "added", "-": "removed", "@": "place"}
NAMES: Final = 2
"""The first lines of a difference are names of files, which the page has elsewhere."""


class CompareQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    new: str
    old: str | None = None
    """None: the submission of the same user to the same problem before it."""


@dataclass(frozen=True, slots=True)
class FileComparison:
    name: str
    old: str
    new: str
    lines: list[tuple[str, str]]
    """The unified difference: each line with its name in the style sheet."""


async def compare(page: PageRequest) -> Response:
    asked = page.query(CompareQuery)
    old_id = asked.old or await previous_submission(page.state, page.account, asked.new)
    if old_id is None:
        raise NotFound("There is no submission to this problem before it.")
    new, old = await shown(page, asked.new), await shown(page, old_id)
    new_source = await read_source(page.state, page.account, new.id)
    old_source = await read_source(page.state, page.account, old.id)
    files = await asyncio.to_thread(lambda: list(compared_files(old_source, new_source)))
    return page.render("comparison.html", old=old, new=new, files=files)


async def shown(page: PageRequest, submission: str) -> SubmissionOut:
    entry = await cached_submission(page.state, page.account, submission)
    assert entry.body is not None, "an unknown submission was refused"
    return SubmissionOut.model_validate_json(entry.body)


def compared_files(old: SourceOut, new: SourceOut) -> Iterator[FileComparison]:
    """Two programs of one file each are compared whatever their names are."""
    before = {each.name: each.content or "" for each in old.files}
    after = {each.name: each.content or "" for each in new.files}
    if len(before) == len(after) == 1:
        name = next(iter(after))
        before = {name: next(iter(before.values()))}
    for name in dict.fromkeys([*after, *before]):
        one, other = before.get(name, ""), after.get(name, "")
        difference = unified_diff(one, other, name, name).splitlines()[NAMES:]
        lines = [(KINDS.get(line[:1], ""), line) for line in difference]
        yield FileComparison(name, one, other, lines)


ROUTES: Final = [page_route(COMPARE, compare)]
