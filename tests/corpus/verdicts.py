"""Reads corpus/verdicts.toml: what each example submission of the corpus is found to be."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deemster.domain.verdict import Verdict

CORPUS = Path(__file__).parents[2] / "corpus"


@dataclass(frozen=True, slots=True)
class Truth:
    verdict: Verdict
    score: float | None = None
    label_holds: bool = True
    """Whether the package's own label of the submission agrees."""


def read_truths() -> dict[str, dict[str, Truth]]:
    """By package, then by the submission's path in it."""
    with (CORPUS / "verdicts.toml").open("rb") as file:
        tables = tomllib.load(file)
    return {
        package: {path: read_truth(entry) for path, entry in table.items()}
        for package, table in tables.items()
    }


def read_truth(entry: str | Mapping[str, Any]) -> Truth:
    if isinstance(entry, str):
        return Truth(Verdict(entry))
    unknown = entry.keys() - {"verdict", "score", "label"}
    assert not unknown, f"verdicts.toml has the unknown key {', '.join(unknown)}"
    return Truth(Verdict(entry["verdict"]), entry.get("score"), entry.get("label", True))


def paths_of_submissions(package: Path) -> set[str]:
    """All that lie in the package, whether its reader knows of them or not."""
    solutions = package / "solutions"
    if solutions.is_dir():
        found = list(solutions.iterdir())
    else:
        found = list(package.glob("submissions/*/*"))
    return {str(path.relative_to(package)) for path in found}
