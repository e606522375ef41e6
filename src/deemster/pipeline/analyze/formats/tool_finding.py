"""What an adapter reads from a tool's output, before anything in it is trusted."""

import re
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from deemster.domain.analysis import OutputForm


class UnreadableOutput(Exception):
    """The output does not have its format; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Lines and columns as the tool counts them, from 1; None: the tool does not say."""

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class OffsetPlace:
    """Counted in bytes from the beginning of the file."""

    offset: int
    length: int = 0


Place = LinePlace | OffsetPlace


@dataclass(frozen=True, slots=True)
class ToolEdit:
    path: str
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinding:
    rule: str
    path: str
    """As the tool prints it."""
    place: Place
    message: str
    edits: tuple[ToolEdit, ...] = ()
    fix_text: str = ""


class Output(BaseModel):
    """A part of a tool's output; what we do not read may be anything."""

    model_config = ConfigDict(extra="ignore", frozen=True)


M = TypeVar("M", bound=Output)


def read_json(model: type[M], output: bytes | str) -> M:
    try:
        return model.model_validate_json(output)
    except ValidationError as fault:
        raise UnreadableOutput(f"JSON of the form {model.__name__}") from fault


def rule_name(form: OutputForm, printed: str) -> str:
    """The id of a rule, from the name that the tool prints."""
    if not form.rule_pattern:
        return printed or form.default_rule
    match = re.search(form.rule_pattern, printed)
    return match[1] if match else form.default_rule
