"""Reads the key of this judge host, and refuses every other credential (M1)."""

import stat
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.judge_host import HostKey, parse_key

OTHERS_MAY_READ = stat.S_IRWXG | stat.S_IRWXO


def read_host_key(given: str | None, file: Path | None) -> HostKey:
    """A key file must be readable by its owner only."""
    if file is not None:
        return parse_key(read_private(file))
    if given is None:
        raise Refused(
            "The key of this judge host is missing: write it to a file of mode 0600, and set "
            "DEEMSTER_JUDGEHOST_KEY_FILE to its path. An admin of the server makes the key "
            "with `deemster host add NAME`."
        )
    return parse_key(given)


def read_private(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & OTHERS_MAY_READ:
                raise Refused(
                    f"Others can read the key in {file} (mode {mode:04o}): run "
                    f"`chmod 600 {file}`, and have the key replaced by `deemster host rotate` "
                    "if somebody may have read it."
                )
            return opened.read()
    except (OSError, UnicodeDecodeError) as fault:
        raise Refused(f"The key of this judge host can't be read: {fault}.") from fault


def refuse_other_credentials(secrets: list[str], data_dir: Path) -> None:
    """`secrets` are the names of all secrets that the settings have.

    A judge host runs other people's programs: what it doesn't have can't be stolen from it.
    """
    others = [name for name in secrets if name != "judgehost_key"]
    if others:
        raise Refused(
            f"A judge host must have no credential but its own key, but these are set: "
            f"{', '.join(others)}. Remove them from its environment and its settings file."
        )
    if (data_dir / "secret.key").exists():
        raise Refused(
            f"{data_dir} is the data directory of a server, with its secret key: set "
            "DEEMSTER_DATA_DIR to another directory for the judge host."
        )
