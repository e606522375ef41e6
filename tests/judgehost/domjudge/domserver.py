"""A stub of the API of a DOMjudge server, from its published routes.

It is strict about methods, fields and the login. It hands tasks out, takes them back from a
host that registers, and ends a judging at the first wrong run, as lazy evaluation does.
"""

import base64
import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.judgehost.domjudge.http_server import Answer, Dropped, Request

USER, PASSWORD = "judgehost", "pass:word%é"
BATCH = 5

Form = dict[str, str]


class Wrong(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Executable:
    files: Mapping[str, tuple[bytes, bool]]
    """Content and mode by name."""

    @property
    def hash(self) -> str:
        parts = [
            hashlib.md5(content).hexdigest() + name + ("1" if executable else "")
            for name, (content, executable) in sorted(self.files.items())
        ]
        return hashlib.md5("".join(parts).encode()).hexdigest()


def script(text: str) -> Executable:
    return Executable({"run": (text.encode(), True)})


@dataclass(slots=True)
class Run:
    """A test case of a judging, and what became of it."""

    task: dict[str, Any]
    host: str | None = None
    report: Form | None = None

    @property
    def result(self) -> str | None:
        return self.report["runresult"] if self.report else None

    def text(self, name: str) -> str:
        assert self.report is not None
        return base64.b64decode(self.report[name]).decode()


@dataclass(slots=True)
class JudgingStub:
    runs: list[Run]
    compile_report: Form | None = None
    compiled_by: list[str] = field(default_factory=list)
    result: str | None = None
    judge_completely: bool = False
    is_given_up: bool = False
    """An internal error has ended it."""

    @property
    def is_over(self) -> bool:
        complete = all(run.report for run in self.runs)
        return (
            self.is_given_up
            or complete
            or (self.result is not None and not self.judge_completely)
        )

    @property
    def results(self) -> list[str | None]:
        return [run.result for run in self.runs]


@dataclass
class DomServerStub:
    contest: str | None = None
    """Set: the layout of version 10, in which the URLs of sources name the contest."""
    config: dict[str, Any] = field(
        default_factory=lambda: {
            "script_timelimit": 30,
            "script_memory_limit": 524288,
            "script_filesize_limit": 65536,
            "timelimit_overshoot": "0.2s|10%",
            "output_storage_limit": 2000,
            "diskspace_error": 1048576,
        }
    )
    versions: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, bool] = field(default_factory=dict)
    registered: list[str] = field(default_factory=list)
    sources: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    executables: dict[int, Executable] = field(default_factory=dict)
    testcases: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    judgings: dict[int, JudgingStub] = field(default_factory=dict)
    other_work: deque[list[dict[str, Any]]] = field(default_factory=deque)
    errors: list[Form] = field(default_factory=list)
    debug_infos: dict[int, Form] = field(default_factory=dict)
    reported_versions: list[Form] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: deque[tuple[str, int | None]] = field(default_factory=deque)
    """Pattern of a call, and the status that it gets, once; None: the connection breaks."""
    before_answer: Callable[[str], None] = lambda _: None
    _next: int = 100

    def number(self) -> int:
        self._next += 1
        return self._next

    # ---- what tests put in ----

    def add_executable(self, executable: Executable) -> int:
        self.executables[number := self.number()] = executable
        return number

    def add_testcase(self, given: bytes, answer: bytes) -> int:
        self.testcases[number := self.number()] = (given, answer)
        return number

    def testcase_hash(self, testcase: int) -> str:
        return "_".join(hashlib.md5(part).hexdigest() for part in self.testcases[testcase])

    # ---- HTTP ----

    def handle(self, request: Request) -> Answer:
        path = request.path.partition("?")[0].removeprefix("/domjudge/api/v4/")
        call = f"{request.method} {path}"
        self.calls.append(call)
        self.before_answer(call)
        if self.faults and re.search(self.faults[0][0], call):
            _, status = self.faults.popleft()
            if status is None:
                raise Dropped
            return Answer(status, content=b"<html>a fault of the server</html>")
        try:
            self._check_login(request)
            return Answer(body=self._route(request.method, path, self._form(request)))
        except Wrong as fault:
            return Answer(fault.status, {"code": fault.status, "message": str(fault)})

    def _check_login(self, request: Request) -> None:
        expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {expected}":
            raise Wrong(401, "Invalid credentials")

    def _form(self, request: Request) -> Form:
        if request.method == "GET":
            if request.body:
                raise Wrong(400, "GET with a body")
            return {}
        if request.headers.get("content-type") != "application/x-www-form-urlencoded":
            raise Wrong(400, "no form")
        return dict(
            parse_qsl(request.body.decode(), keep_blank_values=True, strict_parsing=True)
        )

    def _route(self, method: str, path: str, form: Form) -> Any:
        routes: dict[str, tuple[str, Callable[..., Any], set[str], set[str]]] = {
            r"config": ("GET", lambda: self.config, set(), set()),
            r"languages": ("GET", self._languages, set(), set()),
            r"judgehosts": (
                method if method in {"GET", "POST"} else "GET",
                self._judgehosts if method == "GET" else lambda: self._register(form),
                set() if method == "GET" else {"hostname"},
                set(),
            ),
            r"judgehosts/fetch-work": (
                "POST",
                lambda: self._fetch_work(form),
                {"hostname"},
                {"max_batchsize"},
            ),
            r"judgehosts/get_files/source/([^/]+)": ("GET", self._source, set(), set()),
            r"judgehosts/get_files/source/([^/]+)/([^/]+)": (
                "GET",
                self._contest_source,
                set(),
                set(),
            ),
            r"judgehosts/get_files/testcase/(\d+)": ("GET", self._testcase, set(), set()),
            r"judgehosts/get_files/(compile|run|compare|debug)/(\d+)": (
                "GET",
                self._executable,
                set(),
                set(),
            ),
            r"judgehosts/get_version_commands/(\d+)": (
                "GET",
                lambda _: self.versions,
                set(),
                set(),
            ),
            r"judgehosts/check_versions/(\d+)": (
                "PUT",
                lambda _: self.reported_versions.append(form),
                {"hostname"},
                {"compiler", "runner"},
            ),
            r"judgehosts/update-judging/([^/]+)/(\d+)": (
                "PUT",
                lambda host, task: self._update_judging(host, int(task), form),
                {"compile_success", "output_compile"},
                {"compile_metadata", "entry_point"},
            ),
            r"judgehosts/add-judging-run/([^/]+)/(\d+)": (
                "POST",
                lambda host, task: self._add_run(host, int(task), form),
                {
                    *("runresult", "runtime", "output_run", "output_diff"),
                    *("output_error", "output_system", "metadata"),
                },
                {
                    *("start_time", "end_time", "hostname", "testcasedir"),
                    *("compare_metadata", "team_message", "score"),
                },
            ),
            r"judgehosts/add-debug-info/([^/]+)/(\d+)": (
                "POST",
                lambda host, task: self._add_debug_info(host, int(task), form),
                set(),
                {"output_run", "full_debug"},
            ),
            r"judgehosts/internal-error": (
                "POST",
                lambda: self._internal_error(form),
                {"description", "judgehostlog", "disabled"},
                {"hostname", "judgetaskid"},
            ),
        }
        for pattern, (verb, answer, required, optional) in routes.items():
            found = re.fullmatch(pattern, path)
            if not found:
                continue
            if method != verb:
                raise Wrong(405, f"{method} is not allowed")
            if not required <= form.keys() <= required | optional:
                raise Wrong(400, f"Fields {sorted(form)} instead of {sorted(required)}")
            return answer(*found.groups())
        raise Wrong(404, f"No route {path}")

    # ---- routes ----

    def _languages(self) -> Any:
        return [{"id": "py", "name": "Python 3", "extensions": ["py", "py3"]}]

    def _judgehosts(self) -> Any:
        return [{"hostname": name, "enabled": on} for name, on in self.hosts.items()]

    def _register(self, form: Form) -> Any:
        host = form["hostname"]
        self.hosts.setdefault(host, True)
        self.registered.append(host)
        back = []
        for job, judging in self.judgings.items():
            left = [run for run in judging.runs if run.host == host and run.report is None]
            if left and not judging.is_over:
                for run in left:
                    run.host = None
                back.append({"jobid": job, "submitid": left[0].task["submitid"]})
        return back

    def _fetch_work(self, form: Form) -> Any:
        host = form["hostname"]
        self._known(host)
        if not self.hosts[host]:
            return []
        if self.other_work:
            return self.other_work.popleft()
        for judging in self.judgings.values():
            free = [] if judging.is_over else [r for r in judging.runs if r.host is None]
            if free:
                for run in free[:BATCH]:
                    run.host = host
                return [run.task for run in free[:BATCH]]
        return []

    def _known(self, host: str) -> None:
        if host not in self.hosts:
            raise Wrong(400, f"Register yourself first. You ({host}) are not known to us yet.")

    def _source(self, submission: str) -> Any:
        if self.contest is not None:
            raise Wrong(404, "No route: sources are below their contest")
        return self._source_files(submission)

    def _contest_source(self, contest: str, submission: str) -> Any:
        if contest != self.contest:
            raise Wrong(404, "No such contest")
        return self._source_files(submission)

    def _source_files(self, submission: str) -> Any:
        if submission not in self.sources:
            raise Wrong(404, f"Source code for submission with ID '{submission}' not found")
        return [
            {"filename": name, "content": base64.b64encode(text).decode()}
            for name, text in self.sources[submission].items()
        ]

    def _testcase(self, testcase: str) -> Any:
        if int(testcase) not in self.testcases:
            raise Wrong(404, f"Files for testcase_content with ID '{testcase}' not found")
        return [
            {"filename": name, "content": base64.b64encode(content).decode()}
            for name, content in zip(
                ("input", "output"), self.testcases[int(testcase)], strict=True
            )
        ]

    def _executable(self, kind: str, number: str) -> Any:
        if int(number) not in self.executables:
            raise Wrong(404, f"Files for immutable executable with ID '{number}' not found")
        return [
            {
                "filename": name,
                "content": base64.b64encode(content).decode(),
                "is_executable": executable,
            }
            for name, (content, executable) in self.executables[int(number)].files.items()
        ]

    def _find(self, host: str, task: int) -> tuple[JudgingStub, Run]:
        self._known(host)
        for judging in self.judgings.values():
            for run in judging.runs:
                if run.task["judgetaskid"] == task:
                    if run.host != host:
                        raise Wrong(400, "This task is not yours")
                    return judging, run
        raise Wrong(400, f"Inconsistent data, no judging run known with judgetaskid = {task}.")

    def _update_judging(self, host: str, task: int, form: Form) -> None:
        judging, _ = self._find(host, task)
        judging.compile_report = form
        judging.compiled_by.append(host)
        if form["compile_success"] != "1":
            judging.result = "compiler-error"

    def _add_run(self, host: str, task: int, form: Form) -> int:
        judging, run = self._find(host, task)
        if form["runresult"] not in RESULTS:
            raise Wrong(400, f"Unknown result {form['runresult']}")
        float(form["runtime"])
        run.report = form
        if form["runresult"] != "correct" and judging.result is None:
            judging.result = form["runresult"]
        elif all(each.result == "correct" for each in judging.runs):
            judging.result = "correct"
        return int(judging.result is None or judging.judge_completely)

    def _add_debug_info(self, host: str, task: int, form: Form) -> None:
        self._known(host)
        if len(form) != 1:
            raise Wrong(400, "Argument 'output_run' or 'full_debug' is mandatory")
        self.debug_infos[task] = form

    def _internal_error(self, form: Form) -> int:
        disabled = json.loads(form["disabled"])
        if disabled.keys() != {"kind", ID_FIELDS[disabled["kind"]]}:
            raise Wrong(400, f"Wrong object to disable: {disabled}")
        base64.b64decode(form["judgehostlog"], validate=True)
        self.errors.append(form)
        if disabled["kind"] == "judgehost":
            self.hosts[disabled["hostname"]] = False
        for judging in self.judgings.values():
            if any(str(r.task["judgetaskid"]) == form.get("judgetaskid") for r in judging.runs):
                judging.is_given_up = True
        return len(self.errors)


RESULTS = {"correct", "wrong-answer", "no-output", "timelimit", "run-error", "output-limit"}
ID_FIELDS = {
    "compile_script": "compile_script_id",
    "run_script": "run_script_id",
    "compare_script": "compare_script_id",
    "testcase": "testcaseid",
    "judgehost": "hostname",
}
