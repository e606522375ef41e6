"""The problem "print twice the number", to which several benchmarks submit, with its programs
and bare runs of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.bench.judge import spawn
from deemster.domain.ids import ProblemId
from deemster.domain.language import fill
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchains

CASES: Final = 11
PROBLEM: Final = ProblemId("prob_latency")
PACKAGE: Final = {
    "problem.yaml": "problem_format_version: '2025-09'\nname: Double\n"
    "uuid: 0b0c8f0e-7a43-4a5c-9a2c-55c6e7b0a1d2\nlimits:\n  time_limit: 2\n",
    **{f"data/secret/{case:02}.in": f"{case}\n" for case in range(CASES)},
    **{f"data/secret/{case:02}.ans": f"{2 * case}\n" for case in range(CASES)},
}
SOURCES: Final = {
    "c": r"""#include <stdio.h>
int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    printf("%d\n", 2 * n);
}
""",
    "python3": "print(2 * int(input()))\n",
}
"""By language."""
COMPUTE: Final = {
    "c": """#include <time.h>
static void compute(void) { while (clock() * 1000L / CLOCKS_PER_SEC < %d); }
""",
    "python3": "import time\nbegan = time.process_time()\n"
    "while time.process_time() - began < %d / 1000:\n    pass\n",
}
"""Uses this many milliseconds of CPU time."""
MAX_BARE_SUBMISSIONS: Final = 20
"""Submissions whose cases are run bare at a time."""


def sources_that_compute(work_ms: int) -> Mapping[str, str]:
    """The same programs, which use this much CPU time for each case."""
    if not work_ms:
        return SOURCES
    calling = SOURCES["c"].replace("int n;", "int n;\n    compute();")
    return {
        "c": COMPUTE["c"] % work_ms + calling,
        "python3": COMPUTE["python3"] % work_ms + SOURCES["python3"],
    }


@dataclass(frozen=True, slots=True)
class BareRuns:
    """Runs the programs without a sandbox and without a service, one after another."""

    argv: Mapping[str, tuple[str, ...]]
    inputs: Sequence[Path]

    @classmethod
    async def prepare(cls, directory: Path, sources: Mapping[str, str] = SOURCES) -> "BareRuns":
        catalogue, toolchains = load_catalogue(), Toolchains()
        argv = {}
        for name, source in sources.items():
            language = catalogue.named(name)
            file = directory / language.source.file
            file.write_text(source)
            tools = (await toolchains.require(language)).tools
            if "compiler" in tools:
                program = str(directory / "program")
                spawn((tools["compiler"], "-O2", "-static", "-o", program, str(file)))
            values = {**tools, "code": str(directory), "entry": file.name}
            argv[name] = fill(language.run.argv, values)
        inputs = []
        for name, text in PACKAGE.items():
            if name.endswith(".in"):
                inputs.append(directory / Path(name).name)
                inputs[-1].write_text(text)
        return cls(argv, inputs)

    def submissions_s(self, language: str, count: int) -> float:
        """The seconds of all cases of so many submissions; only some of them are run."""
        some = min(count, MAX_BARE_SUBMISSIONS)
        took_s = sum(
            spawn(self.argv[language], file) for _ in range(some) for file in self.inputs
        )
        return took_s * count / some
