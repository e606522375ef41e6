"""Reads DOMjudge's additional files: .timelimit, domjudge-problem.ini, submissions.json."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from deemster.domain.errors import Refused
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.yaml_file import key_error, read_text

INI_FILE = "domjudge-problem.ini"
TIME_FILE = ".timelimit"
SUBMISSIONS_FILE = "submissions.json"
INI_KEYS = frozenset(
    {"name", "timelimit", "externalid", "allow_submit", "allow_judge", "points", "color"}
) | {"short-name"}
JUDGE_PROGRAMS = frozenset({"special_run", "special_compare"})


@dataclass(frozen=True, slots=True)
class DomjudgeFiles:
    name: str = ""
    time_limits: Mapping[str, float] = field(default_factory=dict)
    """In seconds, by file; the first one counts."""

    def time_limit(self, folder: Folder, of_yaml: float | None) -> float | None:
        """In seconds; that of problem.yaml comes first."""
        limits = dict(self.time_limits)
        if of_yaml is not None:
            limits = {"problem.yaml": of_yaml, **limits}
        chosen = next(iter(limits.items()), None)
        if chosen is None:
            return None
        for file, seconds in limits.items():
            if not math.isclose(seconds, chosen[1]):
                folder.warn(
                    f"{file}: the time limit of {seconds:g} s is not that of "
                    f"{chosen[0]}, {chosen[1]:g} s, which counts."
                )
        return chosen[1]


def read_domjudge_files(folder: Folder) -> DomjudgeFiles:
    time_limits: dict[str, float] = {}
    if folder.is_file(TIME_FILE):
        text = read_text(folder.path(TIME_FILE), TIME_FILE).strip()
        time_limits[TIME_FILE] = seconds_of(text, TIME_FILE, "")
    ini = read_ini(folder)
    if "timelimit" in ini:
        time_limits[INI_FILE] = seconds_of(ini["timelimit"], INI_FILE, "timelimit")
    return DomjudgeFiles(name=ini.get("name", ""), time_limits=time_limits)


def seconds_of(text: str, file: str, key: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        what = f"must be a number of seconds, not '{text[:50]}'."
        raise key_error(file, key, what) if key else Refused(f"{file} {what}")
    return seconds


def read_ini(folder: Folder) -> dict[str, str]:
    """Lines with `key = value`; other lines are skipped, as DOMjudge does."""
    if not folder.is_file(INI_FILE):
        return {}
    found: dict[str, str] = {}
    for line in read_text(folder.path(INI_FILE), INI_FILE).splitlines():
        text = line.strip()
        if not text or text[0] in ";#[" or "=" not in text:
            continue
        key, _, value = (part.strip() for part in text.partition("="))
        found[key] = unquoted(value)
    for key in found:
        if key in JUDGE_PROGRAMS:
            folder.warn(f"{INI_FILE}: {key} names a program of DOMjudge, and is ignored.")
        elif key not in INI_KEYS:
            folder.warn(f"{INI_FILE}: the key '{key}' is not known, and is ignored.")
    return found


def unquoted(value: str) -> str:
    for quote in "\"'":
        if len(value) > 1 and value.startswith(quote) and quote in value[1:]:
            return value[1 : value.index(quote, 1)]
    return value.partition(";")[0].strip()


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Entry point and language of a submission."""

    entry: str | None = None
    language: str | None = None


def read_entry_points(folder: Folder) -> dict[str, EntryPoint]:
    """The entries of submissions.json, by the submission's path."""
    if not folder.is_file(SUBMISSIONS_FILE):
        return {}
    try:
        parsed = json.loads(read_text(folder.path(SUBMISSIONS_FILE), SUBMISSIONS_FILE))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{SUBMISSIONS_FILE} is not valid JSON: {error}.") from None
    if not isinstance(parsed, dict):
        raise Refused(f"{SUBMISSIONS_FILE} must be a map of submissions to their entry points.")
    entry_points: dict[str, EntryPoint] = {}
    for path, details in parsed.items():
        if not isinstance(details, dict):
            raise key_error(SUBMISSIONS_FILE, path, "must be a map.")
        texts = {key: value for key, value in details.items() if isinstance(value, str)}
        entry_points[path.strip("/")] = EntryPoint(
            texts.get("entry_point"), texts.get("langid")
        )
    return entry_points
