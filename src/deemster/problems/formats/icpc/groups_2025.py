"""The models of test_group.yaml and of case files in 2025-09."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool

from deemster.problems.formats.icpc.field_types import Several, Words, as_words, split_flags
from deemster.problems.formats.yaml_file import FileModel, InvalidValue, key_error

GROUP_FILE = "test_group.yaml"
DRAFT_FILE = "testdata.yaml"
SCORE_KEYS = ("max_score", "score_aggregation", "require_pass")
STATIC_KEYS = ("static_validation_score", "static_validator_args")
INHERITED = (
    *("args", "input_validator_args", "output_validator_args"),
    *("full_feedback", "hint", "description"),
)


def as_input_args(value: object) -> object:
    """Arguments by validator; the key '' stands for all."""
    if isinstance(value, dict):
        return {name: as_words(args) for name, args in value.items()}
    return {"": as_words(value)}


def as_arguments(value: object) -> object:
    if isinstance(value, str):
        raise InvalidValue("must be a list of arguments: write [a, b].")
    return as_words(value)


Arguments = Annotated[Words, BeforeValidator(as_arguments)]
InputArguments = Annotated[dict[str, Arguments], BeforeValidator(as_input_args)]
Points = Annotated[int, Field(strict=True, ge=0)]


class CaseYaml(FileModel):
    """Keys that hold for cases."""

    args: Arguments = ()
    input_validator_args: InputArguments = Field(default={"": ()})
    output_validator_args: Arguments = ()
    input_visualizer_args: Arguments = ()
    output_visualizer_args: Arguments = ()
    full_feedback: StrictBool | None = None
    hint: str = ""
    description: str = ""
    # Of BAPCtools.
    answer_validator_args: Any = None


class GroupYaml(CaseYaml):
    max_score: Points | Literal["unbounded"] | None = None
    score_aggregation: Literal["pass-fail", "sum", "min"] | None = None
    static_validation_score: Points | Literal["pass-fail"] | None = None
    static_validator_args: Arguments | None = None
    require_pass: Several = ()


# ---- drafts ----


def from_draft(values: Mapping[str, object], file: str) -> dict[str, object]:
    """Translates the keys of a draft to those of 2025-09."""
    values_2025 = dict(values)
    for old, new in (
        ("output_validator_flags", "output_validator_args"),
        ("input_validator_flags", "input_validator_args"),
    ):
        if old in values_2025:
            values_2025.setdefault(new, as_argument_list(values_2025.pop(old)))
    for new in ("output_validator_args", "input_validator_args"):
        if new in values_2025:
            values_2025[new] = as_argument_list(values_2025[new])
    scoring = values_2025.pop("scoring", None)
    if isinstance(scoring, dict):
        values_2025.update(draft_scoring(scoring, file))
    elif scoring is not None:
        raise key_error(file, "scoring", "must be a map.")
    static = values_2025.pop("static_validation", None)
    if isinstance(static, dict):
        values_2025["static_validation_score"] = draft_score(static.get("score", "pass-fail"))
        if "args" in static:
            values_2025["static_validator_args"] = as_argument_list(static["args"])
    elif static:
        values_2025["static_validation_score"] = "pass-fail"
    return values_2025


def draft_scoring(scoring: Mapping[object, object], file: str) -> dict[str, object]:
    renamed = {
        "score": "max_score",
        "aggregation": "score_aggregation",
        "require_pass": "require_pass",
    }
    found: dict[str, object] = {}
    for key, value in scoring.items():
        if key not in renamed:
            raise key_error(file, f"scoring.{key}", "is not known: correct or remove it.")
        found[renamed[str(key)]] = draft_score(value) if key == "score" else value
    return found


def draft_score(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def as_argument_list(value: object) -> object:
    if isinstance(value, str):
        return list(split_flags(value))
    if isinstance(value, dict):
        return {name: as_argument_list(args) for name, args in value.items()}
    return value
