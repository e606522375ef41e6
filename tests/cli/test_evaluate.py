"""`deemster evaluate calibrate` compares each tier with the grades of teachers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.conftest import Deemster
from tests.pipeline.deliver.receiver import Answering
from tests.pipeline.evaluate.conftest import BAD, GOOD, RUBRIC
from tests.services.model_server import Chat, Model, model_server, says
from tests.waiting import wait_until

EXAMPLES = """
examples:
  - {file: good.py, verdict: Accepted, answers: {split: yes, repeats: no}}
  - {file: bad.py, verdict: Accepted, answers: {split: no, repeats: yes}}
"""


@contextmanager
def serving(**models: Model) -> Iterator[str]:
    """The command runs an event loop of its own, so the server runs in a thread."""
    urls: list[str] = []
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        async with model_server(**models) as server:
            urls.append(server.base_url)
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    try:
        yield wait_until(lambda: urls)[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


def write_files(here: Path, url: str) -> None:
    (here / "rubric.yaml").write_text(RUBRIC)
    (here / "examples.yaml").write_text(EXAMPLES)
    (here / "good.py").write_text("def f(x):\n    return x\n\nprint(f(int(input())))\n")
    (here / "bad.py").write_text("a = 1\na = a + 1\na = a + 1\nprint(a)\n")
    tier = f"{{base_url: '{url}', input_price: 1, output_price: 2, answers: 1"
    (here / "tiers.yaml").write_text(
        f"tiers:\n - {tier}, name: fine, model: fine}}\n - {tier}, name: poor, model: poor}}\n"
    )


def test_each_tier_is_compared_and_its_cost_shown(call: Deemster, here: Path) -> None:
    def fine(chat: Chat) -> Answering:
        is_split = any("def" in text for _, _, text in chat.lines)
        return says(GOOD if is_split else BAD)(chat)

    with serving(fine=fine, poor=says(GOOD)) as url:
        write_files(here, url)
        arguments = ("evaluate", "calibrate", "rubric.yaml", ".", "--tiers", "tiers.yaml")
        done = call(*arguments, "--json", DEEMSTER_EVALUATION_ALLOW_PRIVATE="1")
        shown = call(*arguments, DEEMSTER_EVALUATION_ALLOW_PRIVATE="1")
        bounded = call(
            *arguments, "--budget", "0.001", "--json", DEEMSTER_EVALUATION_ALLOW_PRIVATE="1"
        )
    assert done.code == 0, done.err
    fine_tier, poor_tier = done.json["tiers"]
    assert (fine_tier["scored"], fine_tier["agreement"], fine_tier["kappa"]) == (2, 1, 1)
    assert fine_tier["score_kappa"] == 1
    assert fine_tier["cost"] == 4 * (1000 * 1 + 200 * 2) / 1e6
    assert (poor_tier["agreement"], poor_tier["kappa"]) == (0.5, 0)
    assert poor_tier["mean_error"] == 25
    assert "agreed 2" in shown.out.decode()
    assert [tier["cost"] for tier in bounded.json["tiers"]] == [0, 0]
    assert bounded.json["tiers"][0]["outcomes"] == {"over_budget": 2}


def test_a_missing_file_is_named(call: Deemster, here: Path) -> None:
    (here / "rubric.yaml").write_text(RUBRIC)
    done = call("evaluate", "calibrate", "rubric.yaml", ".")
    assert done.code == 2
    assert "There is no file examples.yaml" in done.err
