"""W4: a page with all that it loads weighs at most 150 kB gzipped, without the editor."""

import gzip
import re

from deemster.domain.account import Role
from deemster.store.pool import Pool
from deemster.web.static_files import built, contents, names
from tests.api.browser import make_person
from tests.web.conftest import Visit
from tests.web.test_solving import publish

MAX_BYTES = 150_000
PAGES = ("/problems", "/problems/prob_other", "/submissions", "/account", "/admin")
LINKED = re.compile(r'(?:href|src)="/static/([^"]+\.(?:css|js|svg))"')
IMPORTED = re.compile(r'(?:from|import)"\./([^"]+\.js)"')
"""What a script imports at once; `import("./…")` loads the editor when it is needed."""


async def test_w4_pages_are_light(visit: Visit, pool: Pool) -> None:
    await publish(pool, "other")
    await make_person(pool, "root", Role.ADMIN)
    async with visit("root") as browser:
        for path in PAGES:
            page = await browser.get(path)
            assert page.status_code == 200, page.text
            loaded = with_imports(set(LINKED.findall(page.text)))
            sizes = {name: len(gzip.compress(body_of(name))) for name in loaded}
            sizes[path] = len(gzip.compress(page.content))
            assert sum(sizes.values()) <= MAX_BYTES, sizes


def body_of(name: str) -> bytes:
    return built()[name] if name in built() else contents()[names()[name]]


def with_imports(wanted: set[str]) -> set[str]:
    found: set[str] = set()
    while more := wanted - found:
        found |= more
        scripts = (body_of(name).decode() for name in more if name.endswith(".js"))
        wanted = {name for script in scripts for name in IMPORTED.findall(script)}
    return found
