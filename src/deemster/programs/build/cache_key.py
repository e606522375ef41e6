"""Hashes everything that determines the result of a compilation into a cache key."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deemster.domain.language import Permissions
from deemster.domain.limits import Limits
from deemster.programs.build.toolchain import (
    SYSTEM_FILES,
    Toolchain,
    stamp_of,
    stamps_of,
)
from deemster.sandbox.command import ENVIRONMENT

FORMAT = 1
"""Raise this when the code that processes a compiler's output changes."""


def cache_key(**facts: Any) -> str:
    text = json.dumps({"format": FORMAT, **facts}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def step_facts(
    permissions: Permissions, limits: Limits, environment: Mapping[str, str]
) -> dict[str, Any]:
    """The settings of the compiler's sandbox."""
    return {
        "base": permissions.base,
        "allow": sorted(permissions.allow),
        "errno": dict(permissions.errno),
        "limits": asdict(limits),
        "environment": {**ENVIRONMENT, **environment},
    }


def file_facts(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def toolchain_facts(toolchain: Toolchain) -> dict[str, Any]:
    return {
        "language": toolchain.language.id,
        "version": toolchain.version,
        "tools": {name: [path, stamp_of(path)] for name, path in toolchain.tools.items()},
        "view": toolchain.views.compile.pack().decode(errors="surrogateescape"),
        "system": stamps_of(SYSTEM_FILES),
    }
