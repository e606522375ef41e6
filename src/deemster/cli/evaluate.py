"""`deemster evaluate`: compares a rubric and its tiers with examples that teachers graded."""

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.table import Table

from deemster.cli.options import AsJson, make_group
from deemster.cli.output import make_table, print_json, table_console
from deemster.domain.errors import Refused
from deemster.domain.model_tier import ModelTier, amount_of, micros_of
from deemster.pipeline.evaluate.calibration import MemoryLedger, TierCalibration
from deemster.pipeline.evaluate.calibration_files import read_examples
from deemster.pipeline.evaluate.rubric_file import parse_rubric
from deemster.pipeline.evaluate.tier_file import read_tiers
from deemster.programs.build.languages import load_catalogue
from deemster.settings import Settings, load_settings
from deemster.store import model_tiers
from deemster.store.pool import connection
from deemster.wiring.evaluating import calibrate as run_calibration
from deemster.wiring.resources import open_command_database

app = make_group("evaluate", "Check rubrics and models by which submissions are evaluated.")


@app.callback()
def group() -> None:
    """Check rubrics and models by which submissions are evaluated."""


@app.command()
def calibrate(
    rubric: Annotated[Path, typer.Argument(metavar="RUBRIC", help="YAML file of the rubric.")],
    examples: Annotated[
        Path,
        typer.Argument(
            metavar="EXAMPLES",
            help="Directory with programs and `examples.yaml`, their grades.",
        ),
    ],
    tiers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML file with the tiers to ask. [default: those of the service's database]",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(metavar="AMOUNT", min=0, help="Most that all calls may cost.")
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Compare the answers of each tier with those of teachers.

    The calls are paid, but do not count towards the budgets of the service. For example:

        deemster evaluate calibrate rubric.yaml examples/ --tiers tiers.yaml
    """
    settings = load_settings()
    found = uvloop.run(compare(settings, rubric, examples, tiers, Decimal(str(budget))))
    if as_json:
        print_json({"tiers": [as_object(each) for each in found]})
    else:
        table_console().print(table_of(found))


async def compare(
    settings: Settings, rubric: Path, examples: Path, tiers: Path | None, budget: Decimal
) -> list[TierCalibration]:
    catalogue = load_catalogue()
    parsed = parse_rubric(read_text(rubric), str(rubric))
    graded = read_examples(examples, parsed, catalogue)
    asked = read_tiers(tiers) if tiers else await stored_tiers(settings)
    ledger = MemoryLedger(micros_of(budget))
    return await run_calibration(settings, catalogue, parsed, graded, asked, ledger)


async def stored_tiers(settings: Settings) -> Sequence[ModelTier]:
    async with open_command_database(settings) as pool, connection(pool) as reading:
        found = await model_tiers.list_tiers(reading)
    if not found:
        raise Refused("The service has no model tiers: name some with --tiers FILE.")
    return found


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise Refused(f"Can't read the rubric {path}: {fault}.") from None


def as_object(found: TierCalibration) -> dict[str, Any]:
    return {**asdict(found), "cost": float(amount_of(found.cost))}


def table_of(found: Sequence[TierCalibration]) -> Table:
    table = make_table(
        "tier",
        "outcomes",
        numbers=(
            *("scored", "agreement", "kappa", "kappa of scores", "error", "cost", "ms a call"),
        ),
    )
    for each in found:
        outcomes = ", ".join(f"{name} {count}" for name, count in each.outcomes.items())
        table.add_row(
            each.tier,
            outcomes,
            f"{each.scored}/{each.examples}",
            shown(each.agreement, ".0%"),
            shown(each.kappa, ".2f"),
            shown(each.score_kappa, ".2f"),
            shown(each.mean_error, ".1f"),
            f"{amount_of(each.cost):.6f}",
            str(each.latency_ms),
        )
    return table


def shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
