"""Stores artifacts in a bucket of Amazon S3 or of a compatible server."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.store.artifacts.backend import (
    BATCH,
    CHUNK_BYTES,
    ArtifactDamaged,
    ArtifactEntry,
    artifact_missing,
)

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

VARIABLE = "DEEMSTER_ARTIFACTS_URL"
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,62}")
OPTIONS = frozenset({"endpoint", "region"})
DEFAULT_REGION = "us-east-1"
PART_BYTES = 8 * MIB
PARTS_AT_ONCE = 2
RETRIES = 3
CONNECT_S = 5.0
NO_SUCH_RANGE = "416"


@dataclass(frozen=True, slots=True)
class BucketAddress:
    bucket: str
    prefix: str
    region: str
    endpoint: str | None
    """None: Amazon's endpoint of the region."""
    key: str | None
    """None: from AWS_* variables or the machine's role."""
    secret: str | None = field(repr=False)

    def __str__(self) -> str:
        """Without the keys, for messages."""
        place = f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")
        return f"{place} at {self.endpoint}" if self.endpoint else place


def parse_address(url: str) -> BucketAddress:
    """`s3://KEY:SECRET@bucket/prefix?endpoint=https://…&region=…`; the bucket is required."""
    try:
        parts = urlsplit(url)
        given = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        )
        bucket = parts.hostname if parts.port is None else None
    except ValueError:
        bucket, given = None, {}
    # Messages show nothing of a wrong URL: its secret may be anywhere in it.
    if bucket is None or parts.scheme != "s3" or not BUCKET.fullmatch(bucket):
        raise Refused(
            f"{VARIABLE} is not the address of a bucket: write s3://KEY:SECRET@bucket/prefix, "
            "with %2F for / and %2B for + in KEY and SECRET, or file:///DIRECTORY."
        )
    unknown = sorted(given.keys() - OPTIONS)
    if unknown or not given.get("endpoint", "http://").startswith(("http://", "https://")):
        raise Refused(f"{VARIABLE} has an unknown option: use endpoint=https://… and region=….")
    if bool(parts.username) != bool(parts.password):
        raise Refused(f"{VARIABLE} has a key without its secret: give both, or none.")
    return BucketAddress(
        bucket=bucket,
        prefix=unquote(parts.path).strip("/"),
        region=given.get("region") or DEFAULT_REGION,
        endpoint=given.get("endpoint"),
        key=unquote(parts.username) if parts.username else None,
        secret=unquote(parts.password) if parts.password else None,
    )


class S3Backend:
    """Uses obstore's blocking calls: its async ones can abort the process when it ends.

    Threads of the Tokio runtime deliver their results, and nothing stops these threads before
    the interpreter ends (github.com/PyO3/pyo3-async-runtimes/issues/40).
    """

    def __init__(self, address: BucketAddress, timeout_s: float) -> None:
        self._address = address
        self._store = open_store(address, timeout_s)

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        with self._errors_as_unavailable():
            if size_bytes <= PART_BYTES:
                obstore.put(self._store, name, b"".join(chunks), use_multipart=False)
            else:
                obstore.put(
                    self._store,
                    name,
                    iter(chunks),
                    use_multipart=True,
                    chunk_size=PART_BYTES,
                    max_concurrency=PARTS_AT_ONCE,
                )

    def read(self, name: str) -> Iterator[bytes]:
        with self._errors_as_unavailable():
            try:
                stream = obstore.get(self._store, name).stream(min_chunk_size=CHUNK_BYTES)
            except FileNotFoundError:
                raise artifact_missing(name, str(self._address)) from None
        while True:
            with self._errors_as_unavailable(), cut_short_as_damaged(name):
                chunk = next(stream, None)
            if chunk is None:
                return
            yield bytes(chunk)

    def find(self, name: str) -> ArtifactEntry | None:
        with self._errors_as_unavailable():
            try:
                found = obstore.head(self._store, name)
            except FileNotFoundError:
                return None
        return ArtifactEntry(name, found["size"], found["last_modified"].timestamp())

    def list(self, folder: str) -> Iterator[list[ArtifactEntry]]:
        stream = iter(obstore.list(self._store, folder, chunk_size=BATCH))
        while True:
            with self._errors_as_unavailable():
                batch = next(stream, None)
            if batch is None:
                return
            yield [
                ArtifactEntry(each["path"], each["size"], each["last_modified"].timestamp())
                for each in batch
            ]

    def remove_partial_files(self) -> None:
        """The bucket's own lifecycle rules remove incomplete uploads."""

    def ping(self) -> None:
        # Unlike a HEAD, a list tells a missing bucket from a missing object.
        with self._errors_as_unavailable():
            obstore.list_with_delimiter(self._store, "ping")

    @contextmanager
    def _errors_as_unavailable(self) -> Iterator[None]:
        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as fault:
            raise Unavailable(
                f"The artifact store {self._address} refuses the keys ({short_reason(fault)}): "
                f"check {VARIABLE} and the permissions of its keys."
            ) from None
        except (BaseError, FileNotFoundError) as fault:
            raise Unavailable(
                f"The artifact store {self._address} failed ({short_reason(fault)}): check "
                f"that it is up, that its bucket exists, and that {VARIABLE} is right."
            ) from None


@contextmanager
def cut_short_as_damaged(name: str) -> Iterator[None]:
    """obstore asks for a range when a body ends too early; if the server has no such range,
    the object is shorter than announced.
    """
    try:
        yield
    except BaseError as fault:
        if NO_SUCH_RANGE in short_reason(fault):
            raise ArtifactDamaged(
                f"The artifact {name} is not as large as its store says."
            ) from None
        raise


def short_reason(fault: Exception) -> str:
    """Keeps only how the request ended: the server's text may contain keys."""
    first = str(fault).partition("<")[0].partition("\n")[0]
    return first.rpartition(" - ")[2].strip(" :")[:200]


def open_store(address: BucketAddress, timeout_s: float) -> S3Store:
    # Not every server supports bulk deletes.
    config: S3Config = {"region": address.region, "disable_bulk_delete": True}
    if address.endpoint:
        config["endpoint"] = address.endpoint
    if address.key and address.secret:
        config["access_key_id"] = address.key
        config["secret_access_key"] = address.secret
    client: ClientConfig = {
        "allow_http": bool(address.endpoint and address.endpoint.startswith("http://")),
        "connect_timeout": timedelta(seconds=min(CONNECT_S, timeout_s)),
        # It starts again with each read: a large transfer may take long, a silent one not.
        "read_timeout": timedelta(seconds=timeout_s),
        "timeout": timedelta(days=1),
    }
    retry: RetryConfig = {
        "max_retries": RETRIES,
        "retry_timeout": timedelta(seconds=timeout_s / 2),
    }
    return S3Store(
        address.bucket,
        prefix=address.prefix or None,
        config=config,
        client_options=client,
        retry_config=retry,
    )
