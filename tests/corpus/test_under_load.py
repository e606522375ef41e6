"""A package gets the same verdicts each time, while another core is busy."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.corpus.conftest import Verify
from tests.corpus.expected_verdicts import CORPUS, read_expected

TIMES = 20
BUSY = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@pytest.fixture
def busy_core() -> Iterator[None]:
    last = max(os.sched_getaffinity(0))
    load = subprocess.Popen([sys.executable, "-c", BUSY, str(last)])
    try:
        yield
    finally:
        load.kill()
        load.wait()


@pytest.mark.soak
@pytest.mark.usefixtures("busy_core")
@pytest.mark.parametrize("package", ["sumlegacy", "divisor", "subtasks", "encode"])
async def test_verdicts_do_not_depend_on_the_load_of_another_core(
    package: str, verify: Verify
) -> None:
    expected = read_expected()[package]
    for _ in range(TIMES):
        verified = await verify(CORPUS / package, expected)
        found = {
            each.example.path: each.judgement and each.judgement.verdict
            for each in verified.report.submissions
        }
        assert found == {path: entry.verdict for path, entry in expected.items()}
