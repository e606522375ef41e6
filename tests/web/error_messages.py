"""Finds the messages of errors in the source files whose errors pages show."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import deemster
from deemster.web.error_texts import PLACE

SOURCE = Path(deemster.__file__).parent
SHOWN_ON_PAGES = (
    "api/accounts.py",
    "api/admission.py",
    "api/authentication.py",
    "api/auth/cookies.py",
    "api/auth/log_in.py",
    "api/auth/passwords.py",
    "api/auth/throttle.py",
    "api/code_sessions.py",
    "api/dead_letters.py",
    "api/executions.py",
    "api/judge_host_admin.py",
    "api/http/body.py",
    "api/http/errors.py",
    "api/http/paging.py",
    "api/http/upload.py",
    "api/log_in_links.py",
    "api/lookups.py",
    "api/permissions.py",
    "api/problems.py",
    "api/queues.py",
    "api/rejudgings.py",
    "api/routes/code_sessions.py",
    "api/routes/live.py",
    "api/app_state.py",
    "api/tokens.py",
    "api/typed_input.py",
    "api/user_import/*.py",
    "api/users.py",
    "api/webhooks.py",
    "api/workers.py",
    "domain/account.py",
    "domain/code_session.py",
    "domain/ids.py",
    "domain/source.py",
    "pipeline/accept/executions.py",
    "pipeline/accept/submissions.py",
    "pipeline/accept/available_languages.py",
    "pipeline/verdict/dead_letter_actions.py",
    "pipeline/verdict/rejudge.py",
    "pipeline/verdict/rejudging_set.py",
    "problems/archive/*.py",
    "problems/formats/**/*.py",
    "problems/importing.py",
    "store/account_import.py",
    "store/accounts.py",
    "store/executions.py",
    "store/judge_hosts.py",
    "store/submission_inserts.py",
    "web/**/*.py",
)
WORD = re.compile(r"[a-z]")
REASON_SECOND = frozenset({"refuse", "take", "FieldFault"})
"""Functions whose second argument tells somebody what is wrong."""

COMPOSED = (
    "{1}: try again in {2} s.",
    "A part of the judge does not answer: try again in {1} s.",
    "submissions",
    "executions",
    "line {1}: {2}",
    "{1} is already in line {2}.",
    "And {1} more.",
    "Nothing was imported, because the list has mistakes.",
    "The source",
    "The included code",
    "None of the files is {1} source: use names that end in {2}.",
    "The entry point '{1}' is not one of the files: {2}.",
    "No file is the clear entry point: name one main, or set the entry point ({1}).",
    "No machine of this judge has {1}: use one of {2}.",
    "No machine of this judge has {1}: none has any language installed.",
    "There is no language '{1}': use one of {2}.",
    "is over",
    "has not started yet",
    "an execution, which is not repeated: its user can run the program again.",
    "the evaluation of a submission that has ended: rejudge the submission.",
    (
        "the last stage of a submission that has its verdict: only the statistics of its "
        "problem do not count it."
    ),
    "requeued",
    "discarded",
    "overtaken",
    "applied",
    "dropped",
    " {1} more are waiting or running, with the test data of the time they were submitted.",
    (
        " {1} more are waiting or running, {2} of them with outdated test data: when they have "
        "ended, rejudge with the filter `outdated`."
    ),
    "all",
    "{1} of its trials have not ended",
    "it is not complete",
    "send either source_code or files",
    "say which submissions: by problem, contest, verdict, ids …",
    (
        "use up to 64 letters, digits, dots, dashes and underscores, and begin with a letter "
        "or digit"
    ),
    "unknown field, leave it out",
    "this field is required",
    "string should have at least {1} character",
    "string should have at least {1} characters",
    "string should have at most {1} characters",
    "input should be a valid integer, unable to parse string as an integer",
    "input should be greater than or equal to {1}",
    "input should be less than or equal to {1}",
    "input should be {1}",
    "input should be a valid boolean, unable to interpret input",
    (
        "This Idempotency-Key was used before with another request: send the same request "
        "again, or a new key."
    ),
    "The verdict is {1}, expected {2}.",
    "The score is the best one, {1}: expected less.",
    "Case {1} is {2}, expected {3}.",
    "No case{1} is {2}.",
    "No jury message{1} contains {2}.",
    "The score{1} is {2}, not {3}.",
    "There is no test case: add some to the package.",
    "There is no submission to judge: add some.",
    "No submission is expected to be accepted.",
    "There is no statement.",
    "The time limit is over {1} s.",
    "The package has more than {1} examples: only these are judged.",
    "It was not judged: verify the problem again.",
)
"""Messages and parts of messages that are put together elsewhere."""


@cache
def error_classes() -> frozenset[str]:
    classes = [
        node
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    found = {"DeemsterError"}
    while more := {each.name for each in classes if names_of(each.bases) & found} - found:
        found |= more
    return frozenset(found)


def names_of(nodes: list[ast.expr]) -> set[str]:
    return {each.id for each in nodes if isinstance(each, ast.Name)}


def shown_messages() -> Iterator[tuple[str, str]]:
    """Where a message is raised, and the message with {1}, {2} … for values."""
    for file in sorted({each for pattern in SHOWN_ON_PAGES for each in SOURCE.glob(pattern)}):
        tree = ast.parse(file.read_text())
        constants = {
            name: node.value
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and node.value is not None
            for name in names_of([node.target])
        }
        for node in ast.walk(tree):
            for message in messages_of(node):
                is_constant = isinstance(message, ast.Name) and message.id in constants
                text = template_of(constants[message.id] if is_constant else message)  # type: ignore[attr-defined]
                if text and WORD.search(PLACE.sub("", text)):
                    yield f"{file.relative_to(SOURCE)}:{node.lineno}", text  # type: ignore[attr-defined]


def messages_of(node: ast.AST) -> list[ast.expr]:
    if not isinstance(node, ast.Call):
        return []
    called = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
    if called in REASON_SECOND:
        return node.args[1:2]
    return node.args[:1] if called in error_classes() else []


def template_of(message: ast.expr) -> str | None:
    """None: the message is put together elsewhere, and the test names it."""
    if isinstance(message, ast.Constant):
        return str(message.value)
    if not isinstance(message, ast.JoinedStr):
        return None
    parts, places = [], 0
    for part in message.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        else:
            places += 1
            parts.append(f"{{{places}}}")
    return "".join(parts)
