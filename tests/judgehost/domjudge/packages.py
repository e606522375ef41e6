"""Puts submissions and packages of the corpus into a stub server, in DOMjudge's form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.judgehost.domjudge.domserver import (
    DomServerStub,
    Executable,
    JudgingStub,
    Run,
    script,
)

CORPUS = Path(__file__).resolve().parents[3] / "corpus"

COMPILE_C = script("""#!/bin/sh
dest=$1; shift 2
exec gcc -x c -O1 -o "$dest" "$@" -lm
""")
COMPILE_PYTHON = script("""#!/bin/sh
dest=$1; shift 2
main=${ENTRY_POINT:-$1}
[ -n "$ENTRY_POINT" ] || echo "Info: detected entry_point: $main"
python3 -c 'import sys; [compile(open(n).read(), n, "exec") for n in sys.argv[1:]]' "$@" || exit
cat > "$dest" <<END
#!/bin/sh
cd "\\${0%/*}"
exec python3 "$main"
END
chmod a+x "$dest"
""")
RUN = script("""#!/bin/sh
input=$1; output=$2; shift 2
exec "$@" < "$input" > "$output"
""")
COMPARE = Executable(
    {
        "build": (b"#!/bin/sh\nexec gcc -O1 -o run words.c\n", True),
        "words.c": (
            rb"""#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    static char path[4096], right[1 << 16], given[1 << 16];
    FILE *answer = fopen(argv[2], "r");
    snprintf(path, sizeof path, "%sjudgemessage.txt", argv[3]);
    FILE *message = fopen(path, "w");
    if (!answer || !message) return 1;
    for (int word = 1;; word++) {
        int more = fscanf(answer, "%65535s", right) == 1;
        int also = scanf("%65535s", given) == 1;
        if (!more && !also) return 42;
        if (more != also || strcmp(right, given)) {
            fprintf(message, "word %d differs\n", word);
            return 43;
        }
    }
}
""",
            False,
        ),
    }
)
"""Compares words."""

LANGUAGES: Mapping[str, tuple[Executable, Sequence[str]]] = {
    ".c": (COMPILE_C, ["c"]),
    ".py": (COMPILE_PYTHON, ["py"]),
}


@dataclass(frozen=True, slots=True)
class ProblemForm:
    """A problem as the server has it."""

    testcases: Sequence[tuple[bytes, bytes]]
    compare: Executable = COMPARE
    run: Executable = RUN
    run_config: Mapping[str, Any] = field(default_factory=dict)
    compare_config: Mapping[str, Any] = field(default_factory=dict)


def corpus_problem(name: str, **config: Any) -> ProblemForm:
    """Its validator, if it has one, is the compare or the combined run executable."""
    root = CORPUS / name
    inputs = sorted((root / "data").glob("*/*.in"))
    cases = [(path.read_bytes(), path.with_suffix(".ans").read_bytes()) for path in inputs]
    validators = [*root.glob("output_validator*/*")]
    if not validators:
        return ProblemForm(cases, run_config=config)
    [place] = validators
    sources = [place] if place.is_file() else sorted(place.iterdir())
    validator = Executable({each.name: (each.read_bytes(), False) for each in sources})
    text = (root / "problem.yaml").read_text()
    if "interactive" in text:
        return ProblemForm(
            cases,
            run=validator,
            run_config=config,
            compare_config={"combined_run_compare": True},
        )
    flags = [line.split(": ")[1] for line in text.splitlines() if "validator_flags" in line]
    return ProblemForm(
        cases,
        compare=validator,
        run_config=config,
        compare_config={"compare_args": flags[0]} if flags else {},
    )


def submit(
    server: DomServerStub,
    problem: ProblemForm,
    sources: Path | Mapping[str, bytes],
    *,
    changes: Mapping[str, Any] | None = None,
    judge_completely: bool = False,
) -> JudgingStub:
    """Adds a judging of these sources, with one task for each test case."""
    files = {sources.name: sources.read_bytes()} if isinstance(sources, Path) else sources
    suffix = Path(next(iter(files))).suffix
    compile_executable, extensions = LANGUAGES[suffix]
    submission, job = str(server.number()), server.number()
    server.sources[submission] = files
    ids = {
        "compile": server.add_executable(compile_executable),
        "run": server.add_executable(problem.run),
        "compare": server.add_executable(problem.compare),
    }
    limits = {name: server.config[name] for name in server.config if name.startswith("script_")}
    configs: dict[str, dict[str, Any]] = {
        "compile": {
            **limits,
            "language_extensions": extensions,
            "filter_compiler_files": True,
            "hash": compile_executable.hash,
        },
        "run": {
            "time_limit": 20,
            "memory_limit": 262144,
            "output_limit": 1024,
            "process_limit": 64,
            "entry_point": None,
            "pass_limit": 1,
            "overshoot": 0,
            "hash": problem.run.hash,
            **problem.run_config,
        },
        "compare": {
            **limits,
            "compare_args": None,
            "combined_run_compare": False,
            "hash": problem.compare.hash,
            **problem.compare_config,
        },
    }
    runs = []
    for given, answer in problem.testcases:
        testcase = server.add_testcase(given, answer)
        task = {
            "type": "judging_run",
            "judgetaskid": server.number(),
            "submitid": submission,
            "jobid": job,
            "uuid": "7f3c0d6e",
            "priority": 0,
            "testcase_id": testcase,
            "testcase_hash": server.testcase_hash(testcase),
            **{f"{kind}_script_id": number for kind, number in ids.items()},
            **{f"{kind}_config": json.dumps(config) for kind, config in configs.items()},
            **({} if server.contest is None else {"contest_id": server.contest}),
            **(changes or {}),
        }
        runs.append(Run(task))
    server.judgings[job] = JudgingStub(runs, judge_completely=judge_completely)
    return server.judgings[job]


def words(*cases: tuple[str, str], **config: Any) -> ProblemForm:
    return ProblemForm([(a.encode(), b.encode()) for a, b in cases], run_config=config)


def prefetch(server: DomServerStub, judging: JudgingStub) -> list[dict[str, Any]]:
    return [{**run.task, "type": "prefetch", "submitid": None} for run in judging.runs]


def calls_of(calls: Iterable[str], kind: str) -> list[str]:
    return [call for call in calls if f"get_files/{kind}/" in call]
