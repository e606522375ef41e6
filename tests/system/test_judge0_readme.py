"""F1: Judge0's unmodified client runs the examples of its own README."""

import json
import sys
from pathlib import Path

from tests.system.compat_service import run_client, serving
from tests.system.conftest import OpenService

SCRIPT = Path(__file__).parent / "judge0_readme_script.py"
HELLO = "hello, world\n"
EXAMPLES = {
    "Option 2: Implicit Client Object": f"{HELLO}\n",
    "hello, world": f"{HELLO}\n",
    "Running C Programming Language": f"{HELLO}\n",
    "Running Java Programming Language": f"{HELLO}\n",
    "Reading From Standard Input": "8\nHello, Bob!\n\n",
    "Asynchronous Execution": f"None\n{HELLO}\n",
    "Filesystem": "hello from my_file.txt\nhello, world\n\n",
    "Custom Judge0 Client": f"{HELLO}\n",
}
"""What each prints. Not here: examples that need a language model, or matplotlib."""
TEST_CASES = "".join(
    f"--- Test Case #{number} ---\nHello, {name}!\n\nAccepted\n"
    for number, name in enumerate(("Bob", "Alice", "Charlie"), start=1)
)
OTHERS = (
    "Judge0 Python SDK",
    "Test Cases",
    "Test Cases And Multiple Languages",
    "Get Languages",
)


async def test_the_readme_of_judge0_s_client_works(open_service: OpenService) -> None:
    async with serving(open_service, "judge0") as served:
        headers = json.dumps({"X-Auth-Token": served.token})
        environment = {
            "JUDGE0_CE_ENDPOINT": f"{served.url}/judge0/ce",
            "JUDGE0_CE_AUTH_HEADERS": headers,
            "JUDGE0_EXTRA_CE_ENDPOINT": f"{served.url}/judge0/extra",
            "JUDGE0_EXTRA_CE_AUTH_HEADERS": headers,
        }
        own = f"{served.url_with_token}/judge0"
        # In a process of its own, because the client reads its settings when it is imported.
        printed = await run_client(
            sys.executable, SCRIPT, own, *EXAMPLES, *OTHERS, env=environment
        )
    assert {title: printed[title] for title in EXAMPLES} == EXAMPLES
    assert printed["Test Cases"] == TEST_CASES
    both = "".join(f"--- Submission #{number} ---\n{TEST_CASES}" for number in (1, 2))
    assert printed["Test Cases And Multiple Languages"] == both
    assert "Language(id=71, name='Python (3." in printed["Get Languages"]
    first = printed["Judge0 Python SDK"].splitlines()
    assert (first[0], first[-2:]) == (
        repr(HELLO),
        ["'script.py'", repr(b"print('hello, world')")],
    )
    seconds, memory_kb = first[1:3]
    assert 0 < float(seconds) < 5
    assert int(memory_kb) > 0
