"""Reads corpus/verdicts.toml, the expected verdict of each submission in the corpus."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deemster.domain.verdict import Verdict

CORPUS = Path(__file__).parents[2] / "corpus"


@dataclass(frozen=True, slots=True)
class Expected:
    verdict: Verdict
    score: float | None = None
    label_holds: bool = True
    """Whether the package's own label of the submission agrees."""


def read_expected() -> dict[str, dict[str, Expected]]:
    """By package, then by the path of the submission."""
    with (CORPUS / "verdicts.toml").open("rb") as file:
        tables = tomllib.load(file)
    return {
        package: {path: read_entry(entry) for path, entry in table.items()}
        for package, table in tables.items()
    }


def read_entry(entry: str | Mapping[str, Any]) -> Expected:
    if isinstance(entry, str):
        return Expected(Verdict(entry))
    unknown = entry.keys() - {"verdict", "score", "label"}
    assert not unknown, f"verdicts.toml has the unknown key {', '.join(unknown)}"
    return Expected(Verdict(entry["verdict"]), entry.get("score"), entry.get("label", True))


def paths_of_submissions(package: Path) -> set[str]:
    """All submissions in the package, whether its format defines them or not."""
    solutions = package / "solutions"
    if solutions.is_dir():
        found = list(solutions.iterdir())
    else:
        found = list(package.glob("submissions/*/*"))
    return {str(path.relative_to(package)) for path in found}
