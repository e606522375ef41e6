"""What changed between two submissions of one's own (W1)."""

import re

from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.source import pack_files
from deemster.store.pool import Pool
from tests.api.browser import make_person
from tests.builders import make_submission
from tests.web.conftest import Visit


async def submitted(pool: Pool, owner: AccountId, source: str) -> SubmissionId:
    return await make_submission(pool, owner, source=pack_files({"main.py": source.encode()}))


async def test_w1_two_versions_are_compared_without_scripts(visit: Visit, pool: Pool) -> None:
    owner = await make_person(pool)
    await make_person(pool, "other")
    old = await submitted(pool, owner, "a = 1\nprint(a < 2)\n")
    new = await submitted(pool, owner, "a = 1\nprint(a < 3)\n")
    async with visit("ada") as browser:
        listed = await browser.get("/submissions?problem=prob_sum")
        chosen = re.findall(r'name="(\w+)" value="(\w+)"[^>]* checked', listed.text)
        assert chosen == [("new", new), ("old", old)]
        shown = await browser.get(f"/submissions/compare?new={new}&old={old}")
        lines = re.findall(r'<span class="(added|removed)">(.*)', shown.text)
        assert lines == [("removed", "-print(a &lt; 2)"), ("added", "+print(a &lt; 3)")]
        before = await browser.get(f"/submissions/compare?new={new}")
        assert before.text.count(old) == shown.text.count(old), "the one before is the default"
        first = await browser.get(f"/submissions/compare?new={old}")
        same = await browser.get(f"/submissions/compare?new={new}&old={new}")
    assert first.status_code == 404
    assert "Nothing changed in this file." in same.text
    async with visit("other") as browser:
        hidden = await browser.get(f"/submissions/compare?new={new}&old={old}")
    assert hidden.status_code == 404
