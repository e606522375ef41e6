"""`deemster doctor`: checks the sandbox and the toolchains, and says how to fix them."""

from collections.abc import AsyncIterator
from dataclasses import asdict

import typer
import uvloop
from rich.console import Console
from rich.markup import escape

from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson
from deemster.cli.output import print_json, table_console
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, Toolchains
from deemster.sandbox.checks import Check, check_sandbox
from deemster.settings import Settings, load_settings
from deemster.wiring.judging import version_box


def doctor(as_json: AsJson = False) -> None:
    """Check this machine's sandbox and toolchains, and say how to fix what is missing.

    The exit code is 1 if untrusted code can't run safely on this machine.
    """
    checks = uvloop.run(run_checks(load_settings(), show=not as_json))
    ok = all(check.ok for check in checks if check.required)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    elif not ok:
        table_console().print(
            "\nUntrusted code can't run safely on this machine yet. If you accept to run "
            "without a sandbox layer, name it in DEEMSTER_SANDBOX_WITHOUT."
        )
    if not ok:
        raise typer.Exit(ExitCode.FAILED)


async def run_checks(settings: Settings, *, show: bool) -> list[Check]:
    """With `show` each result is printed as soon as it is known."""
    console = Console(highlight=False)
    checks = []
    async for check in all_checks(settings):
        checks.append(check)
        if show:
            console.print(as_line(check), soft_wrap=True)
    return checks


async def all_checks(settings: Settings) -> AsyncIterator[Check]:
    async for check in check_sandbox(settings.runner):
        yield check
    if settings.sandbox_without:
        without = ", ".join(sorted(settings.sandbox_without))
        mend = "Unset DEEMSTER_SANDBOX_WITHOUT if the checks above pass."
        yield Check("layers turned off", ok=False, detail=without, mend=mend, required=False)
    for found in await Toolchains(version_box=version_box(settings)).find_all(load_catalogue()):
        name = f"language {found.language.id}"
        if isinstance(found, Missing):
            mend = found.language.installation
            yield Check(name, ok=False, detail=found.reason, mend=mend, required=False)
        else:
            yield Check(name, ok=True, detail=found.version)


def as_line(check: Check) -> str:
    if check.ok:
        mark = "[green]ok  [/]"
    else:
        mark = "[red]no  [/]" if check.required else "[yellow]note[/]"
    line = f"{mark} {escape(check.name)}: {escape(check.detail)}"
    return f"{line}\n     [bold]{escape(check.mend)}[/]" if check.mend else line
