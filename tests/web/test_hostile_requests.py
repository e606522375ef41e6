"""W1, W3: whatever somebody writes in an address or a form, the answer is a page."""

import re

import pytest

from deemster.api.permissions import PAGE_PERMISSIONS
from deemster.domain.account import Role
from deemster.store.pool import Pool
from deemster.web.page import MAX_FIELDS
from deemster.web.pages.admin.problems import archive_name
from tests.api.browser import make_person
from tests.web.conftest import Visit
from tests.web.test_solving import field

HOSTILE = (
    *("%00", "%ff", "%ed%a0%80", "9" * 30, "-1", "x" * 3000, "..%2f..%2fetc%2fpasswd"),
    "%2f%2f%5b",  # no URL can be read that begins with //[
)
QUERIES = ("cursor", "problem", "state", "user", "verdict", "done", "next", "limit", "name")
HOSTS = ("[", "a/b?c", "x" * 300, "judge:99999999")


@pytest.mark.parametrize("together", [True, pytest.param(False, marks=pytest.mark.soak)])
async def test_w3_a_hostile_address_is_no_fault_of_the_server(
    visit: Visit, pool: Pool, together: bool
) -> None:
    """With `together`, fields of a query are sent alone only where together they are refused,
    and not the page itself.
    """
    await make_person(pool, "root", Role.ADMIN)
    async with visit("root") as browser:

        async def status(address: str) -> int:
            answer = await browser.get(address)
            assert answer.status_code < 500, (address, answer.text)
            return answer.status_code

        for method, path in PAGE_PERMISSIONS:
            if method != "GET":
                continue
            plain = re.sub(r"{\w+}", "sub_" + "0" * 26, path)
            usual = await status(plain)
            for each in HOSTILE:
                if "{" in path:
                    await status(re.sub(r"{\w+}", each, path))
                alone = [f"{name}={each}" for name in QUERIES]
                if not together or await status(f"{plain}?{'&'.join(alone)}") != usual:
                    for query in alone:
                        await status(f"{plain}?{query}")
        for host in HOSTS:
            answer = await browser.get("/problems", headers={"Host": host})
            assert answer.status_code < 500, (host, answer.text)


async def test_w3_a_hostile_form_is_no_fault_of_the_server(visit: Visit, pool: Pool) -> None:
    await make_person(pool, "root", Role.ADMIN)
    names = (
        *("name", "password", "role", "problem", "tier", "daily_quota", "expires_in_days"),
        *("key", "language", "next", "source"),
    )
    async with visit("root") as browser:
        token = field(await browser.get("/account"), "csrf_token")
        for method, path in PAGE_PERMISSIONS:
            if method != "POST" or path in {"/logout", "/admin/problems", "/admin/user-import"}:
                continue
            for value in ("\0", "9" * 30, "x" * 3000, "\u202e", "-1", "1e400", "//["):
                form = dict.fromkeys(names, value) | {"csrf_token": token}
                answer = await browser.post(
                    re.sub(r"{\w+}", "sub_" + "0" * 26, path), data=form
                )
                assert answer.status_code < 500, (path, value, answer.text)


async def test_d3_an_upload_with_too_many_fields_is_refused(visit: Visit, pool: Pool) -> None:
    """D3: each field would stay in memory, and there is room for millions of them."""
    await make_person(pool, "carl", Role.AUTHOR)
    async with visit("carl") as browser:
        form = {"csrf_token": field(await browser.get("/admin/problems"), "csrf_token")}
        form |= {f"x{number}": "" for number in range(MAX_FIELDS)}
        answer = await browser.post("/admin/problems", data=form, files={"file": b"x"})
    assert answer.status_code == 400
    assert "too many fields" in answer.text


@pytest.mark.parametrize("path", ["/problems/prob_x/file", "/admin/problems"])
async def test_a6_an_upload_with_a_long_boundary_is_refused(
    visit: Visit, pool: Pool, path: str
) -> None:
    """A6: a browser never sends one, but the answer says what is wrong."""
    await make_person(pool, "carl", Role.AUTHOR)
    media_type = f"multipart/form-data; boundary={'x' * 5000}"
    async with visit("carl") as browser:
        answer = await browser.post(path, content=b"x", headers={"Content-Type": media_type})
    assert answer.status_code == 400


@pytest.mark.parametrize("name", ["x" * 300 + ".zip", "../../etc/passwd", "..", "\0.zip", ""])
def test_j8_the_name_of_an_upload_is_a_short_plain_name(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9_-]{1,64}", archive_name(name))


async def test_o6_no_two_pages_have_the_same_token(visit: Visit, pool: Pool) -> None:
    """O6: pages are compressed, so that a token that stays the same could be guessed."""
    await make_person(pool, "ada")
    async with visit("ada") as browser:
        tokens = [field(await browser.get("/account"), "csrf_token") for _ in range(2)]
        assert len(set(tokens)) == 2
        for token in tokens:
            form = {"csrf_token": token, "language": "de"}
            assert (await browser.post("/account/display", data=form)).status_code == 303
        wrong = tokens[0][:64] + tokens[1][64:]
        answer = await browser.post("/account/display", data={"csrf_token": wrong})
        assert answer.status_code == 403
