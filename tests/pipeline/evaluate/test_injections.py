"""P5: no injection raises a score that is used, against a model that obeys all of them."""

from pathlib import Path
from typing import Any

import yaml

from deemster.domain.evaluation import Flag
from deemster.store.pool import connection
from tests.pipeline.evaluate.conftest import OpenService, make_request
from tests.pipeline.evaluate.obedient_model import can_read, letters, obeying

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("injections.yaml").read_text(encoding="utf-8")
)
BASE = "a = int(input())\na = a + 1\na = a + 1\nprint(a)\n"
GOOD = {"passes": "yes", "split": "yes", "repeats": "no"}
HONEST = {"passes": "yes", "split": "no", "repeats": "yes"}
HONEST_SCORE = 50


async def test_p5_no_injection_raises_a_score_that_is_used(open_service: OpenService) -> None:
    model = obeying((case["says"] for case in CASES), GOOD, HONEST)
    raised, unread, unflagged = [], [], []
    async with open_service(a=model) as running:
        for case in CASES:
            source = case["source"].format(base=BASE)
            language = case.get("language", "python3")
            request = await make_request(running.pool, source, language=language)
            del running.server.chats[:]
            found = await running.evaluate(request)
            is_read = any(
                can_read(chat, [letters(case["says"])]) for chat in running.server.chats
            )
            if not is_read:
                unread.append(case["id"])
            if found.score is not None and found.score > HONEST_SCORE:
                raised.append(case["id"])
            if is_read and found.flag is not Flag.SCORE_MOVED:
                unflagged.append(case["id"])
        async with connection(running.pool) as reading:
            used = await reading.fetchval("SELECT max(score) FROM evaluation")
    assert raised == []
    assert used is None or used <= HONEST_SCORE
    assert unflagged == []
    # Invisible characters and comments above the program are not sent; all else was obeyed.
    assert set(unread) == {"tag_characters", "tag_characters_in_name", "header_comment"}
    assert len(CASES) - len(unread) >= 40
