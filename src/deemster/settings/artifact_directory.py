"""Reads the directory from a file:// URL of the artifact store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from deemster.domain.errors import Refused


def directory_in(url: str) -> Path | None:
    """None: the URL names a bucket."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    path = Path(unquote(parts.path))
    if parts.netloc or parts.query or not path.is_absolute() or path == Path("/"):
        raise Refused(
            "DEEMSTER_ARTIFACTS_URL does not name a directory: write file:///srv/deemster, "
            "with three slashes."
        )
    return path
