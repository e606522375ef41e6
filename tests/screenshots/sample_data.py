"""Fills a fresh service with people, submissions of all verdicts, and a dead letter."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.api.browser import PASSWORD
from tests.cli.up.service import Up
from tests.waiting import until

ROOT = Path(__file__).parents[2]
PEOPLE = {
    "ada": "user",
    "grace": "user",
    "linus": "user",
    "margaret.h": "author",
    "maximiliane-friederike.von-hohenlohe-langenburg-der-juengeren-87": "user",
}
BROKEN = ROOT / "corpus" / "brokenjudge"
COUNTING = ROOT / "samples" / "countingout" / "submissions"
SUM = "prob_aplusb"
RIGHT = "first, second = map(int, input().split())\nprint(first + second)\n"
WRONG = """import sys

first, second = map(int, input().split())
print("first is", first, file=sys.stderr)
print(first - second)
"""
COMPILE_ERROR = """#include <stdio.h>

int main(void)
{
    int first, second;
    scanf("%d %d", &first, &second);
    printf("%d\\n", first + secnod);
    return 0
}
"""
PROGRAMS: list[tuple[str, str, str, str]] = [
    ("grace", SUM, "python3", RIGHT),
    ("linus", SUM, "c", COMPILE_ERROR),
    ("grace", SUM, "python3", "while True:\n    pass\n"),
    ("linus", SUM, "python3", "kept = []\nwhile True:\n    kept.append('x' * 1_000_000)\n"),
    ("grace", SUM, "python3", "while True:\n    print('x' * 10_000)\n"),
    ("ada", SUM, "python3", "numbers = []\nprint(numbers[1])\n"),
    ("ada", SUM, "c", COMPILE_ERROR),
    ("ada", SUM, "python3", WRONG),
    ("ada", SUM, "python3", RIGHT),
]


@dataclass(frozen=True, slots=True)
class SampleData:
    by_verdict: dict[str, str]
    """A submission with each verdict; those of ada, if she has one."""
    dead_letter: int
    rejudging: str


class Sampler:
    def __init__(self, judge: Up, client: httpx.Client) -> None:
        self._judge = judge
        self._client = client
        self._tokens: dict[str, str] = {}

    def ask(self, method: str, path: str, body: object = None, who: str = "") -> Any:
        headers = {"Authorization": f"Bearer {self._tokens[who]}"} if who else {}
        answer = self._client.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def add_people(self) -> None:
        for name, role in PEOPLE.items():
            user = {"name": name, "role": role, "password": PASSWORD}
            made = self.ask("POST", "/v1/admin/users", user)
            token = self.ask(
                "POST", f"/v1/admin/users/{made['id']}/tokens", {"name": "samples"}
            )
            self._tokens[name] = token["token"]

    def set_admin_password(self) -> None:
        users = self.ask("GET", "/v1/admin/users")["items"]
        [admin] = [each["id"] for each in users if each["role"] == "admin"]
        self.ask("PATCH", f"/v1/admin/users/{admin}", {"password": PASSWORD})

    def import_problem(self, package: Path) -> None:
        self.command("problem", "import", str(package))

    def command(self, *arguments: str) -> None:
        done = self._judge.command(*arguments)
        assert done.returncode == 0, done.stderr

    def submit(self, who: str, problem: str, language: str, source: str) -> str:
        body = {"problem_id": problem, "language": language, "source_code": source}
        return str(self.ask("POST", "/v1/submissions", body, who)["id"])

    async def verdict(self, submission: str) -> str | None:
        """None: it could not be judged."""

        def ended() -> Any:
            shown = self.ask("GET", f"/v1/submissions/{submission}?wait=30")
            return shown if shown["status"] in {"finished", "failed"} else None

        return (await until(ended))["verdict"]  # type: ignore[no-any-return]

    async def verify(self, problem: str) -> None:
        path = f"/v1/problems/{problem}/verification"
        self.ask("POST", path)
        await until(lambda: self.ask("GET", path)["state"] == "done")


async def fill(judge: Up) -> SampleData:
    token = (judge.data / "admin.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=judge.url, headers=headers, timeout=60) as client:
        sampler = Sampler(judge, client)
        sampler.set_admin_password()
        sampler.add_people()
        sampler.command("host", "add", "laboratory-7")
        sampler.import_problem(BROKEN)
        partial = (COUNTING / "wrong_answer" / "only_the_last.py").read_text()
        programs = [
            ("linus", "prob_brokenjudge", "python3", "print('crash')\n"),
            ("ada", "prob_countingout", "python3", partial),
            *PROGRAMS,
        ]
        by_verdict = {}
        for who, *program in programs:
            submission = sampler.submit(who, *program)
            verdict = await sampler.verdict(submission)
            assert verdict is not None
            by_verdict[verdict] = submission
        session = {"language": "python3", "template_code": RIGHT, "problem_id": SUM}
        sampler.ask("POST", "/v1/code-sessions", session, "ada")
        rejudged = {"problem": SUM, "verdict": "Wrong Answer", "reason": "A case was wrong"}
        rejudging = sampler.ask("POST", "/v1/admin/rejudgings", rejudged)["id"]
        await sampler.verify("prob_brokenjudge")
        dead_letter = await make_dead_letter(judge, sampler)
    return SampleData(by_verdict, dead_letter, rejudging)


async def make_dead_letter(judge: Up, sampler: Sampler) -> int:
    """A submission whose test data is gone, as after a disk was lost."""
    before = revisions(judge)
    sampler.import_problem(ROOT / "corpus" / "hello")
    [digest] = revisions(judge) - before
    for each in files_of(judge, digest):
        each.rename(each.with_name(f"gone-{each.name}"))
    submission = sampler.submit("grace", "prob_hello", "python3", "print('Hello')\n")
    assert await sampler.verdict(submission) is None
    return int(sampler.ask("GET", "/v1/admin/dead-letters")["items"][0]["number"])


def files_of(judge: Up, revision: str) -> list[Path]:
    """The directory to judge with, and the archive for other machines."""
    found = judge.data.rglob(f"{revision}*")
    return [each for each in found if each.parent.name == "revisions"]


def revisions(judge: Up) -> set[str]:
    return {each.name for each in (judge.data / "revisions").iterdir() if len(each.name) == 64}
