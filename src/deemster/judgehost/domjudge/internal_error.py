"""Faults that a host reports to a DOMjudge server, with the object that it must disable."""

import json
from dataclasses import dataclass
from typing import Final

from deemster.judgehost.domjudge.server import encoded

SEPARATOR: Final = f"\n\n{'-' * 80}\n\n"


@dataclass(frozen=True, slots=True)
class Disabled:
    """The object that the server disables until an admin has resolved the error."""

    kind: str
    id_field: str
    id: str

    @classmethod
    def script(cls, kind: str, script: str) -> "Disabled":
        """`kind` is compile, run or compare."""
        return cls(f"{kind}_script", f"{kind}_script_id", script)

    @classmethod
    def testcase(cls, testcase: str) -> "Disabled":
        return cls("testcase", "testcaseid", testcase)

    @classmethod
    def host(cls, host: str) -> "Disabled":
        return cls("judgehost", "hostname", host)

    def as_json(self) -> str:
        return json.dumps({"kind": self.kind, self.id_field: self.id})


class InternalError(Exception):
    """Nobody's program is at fault, but an object of the server or this host."""

    def __init__(self, description: str, disabled: Disabled, details: str = "") -> None:
        super().__init__(description)
        self.description = description
        self.disabled = disabled
        self.details = details


def error_form(error: InternalError, host: str, task: int | None, log: str) -> dict[str, str]:
    """The form of the call `internal-error`."""
    text = SEPARATOR.join(part for part in (log, error.details) if part)
    form = {
        "description": error.description,
        "judgehostlog": encoded(text.encode()),
        "disabled": error.disabled.as_json(),
        "hostname": host,
    }
    return form if task is None else form | {"judgetaskid": str(task)}
