"""Artifacts in a bucket of Amazon S3, or of anything that speaks its protocol."""

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
    missing,
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
class Address:
    bucket: str
    prefix: str
    region: str
    endpoint: str | None
    """None: Amazon's own, of the region."""
    key: str | None
    """None: what AWS_* variables or the machine's role give."""
    secret: str | None = field(repr=False)

    def __str__(self) -> str:
        """Without the keys, for messages."""
        place = f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")
        return f"{place} at {self.endpoint}" if self.endpoint else place


def parse_address(url: str) -> Address:
    """`s3://KEY:SECRET@bucket/prefix?endpoint=https://…&region=…`; only the bucket must be."""
    try:
        parts = urlsplit(url)
        given = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        )
        bucket = parts.hostname if parts.port is None else None
    except ValueError:
        bucket, given = None, {}
    # Nothing of the URL is shown: where it is wrong, a secret may be anywhere in it.
    if bucket is None or parts.scheme != "s3" or not BUCKET.fullmatch(bucket):
        raise Refused(
            f"{VARIABLE} is no address of a bucket: write s3://KEY:SECRET@bucket/prefix, with "
            "%2F for / and %2B for + in KEY and SECRET."
        )
    unknown = sorted(given.keys() - OPTIONS)
    if unknown or not given.get("endpoint", "http://").startswith(("http://", "https://")):
        raise Refused(
            f"{VARIABLE} has an option that isn't understood: there are endpoint=https://… and "
            "region=…."
        )
    if bool(parts.username) != bool(parts.password):
        raise Refused(f"{VARIABLE} has a key without its secret: give both, or none.")
    return Address(
        bucket=bucket,
        prefix=unquote(parts.path).strip("/"),
        region=given.get("region") or DEFAULT_REGION,
        endpoint=given.get("endpoint"),
        key=unquote(parts.username) if parts.username else None,
        secret=unquote(parts.password) if parts.password else None,
    )


class S3Backend:
    """obstore's blocking calls: its async ones can abort the process when that ends.

    Their results are handed over by threads of the Tokio runtime, which nobody stops before the
    interpreter goes (github.com/PyO3/pyo3-async-runtimes/issues/40).
    """

    def __init__(self, address: Address, patience_s: float) -> None:
        self._address = address
        self._store = open_store(address, patience_s)

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        with self._faults():
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
        with self._faults():
            try:
                stream = obstore.get(self._store, name).stream(min_chunk_size=CHUNK_BYTES)
            except FileNotFoundError:
                raise missing(name, str(self._address)) from None
        while True:
            with self._faults(), shortness_told(name):
                chunk = next(stream, None)
            if chunk is None:
                return
            yield bytes(chunk)

    def find(self, name: str) -> ArtifactEntry | None:
        with self._faults():
            try:
                found = obstore.head(self._store, name)
            except FileNotFoundError:
                return None
        return ArtifactEntry(name, found["size"], found["last_modified"].timestamp())

    def list(self, folder: str) -> Iterator[list[ArtifactEntry]]:
        stream = iter(obstore.list(self._store, folder, chunk_size=BATCH))
        while True:
            with self._faults():
                batch = next(stream, None)
            if batch is None:
                return
            yield [
                ArtifactEntry(each["path"], each["size"], each["last_modified"].timestamp())
                for each in batch
            ]

    def remove(self, name: str, before_s: float | None = None) -> bool:
        """Between the look and the removal another write can be lost, within milliseconds."""
        found = self.find(name)
        if found is None or (before_s is not None and found.modified_s >= before_s):
            return False
        with self._faults():
            obstore.delete(self._store, name)
        return True

    def tidy(self) -> None:
        """Uploads that were not completed are for the bucket's own rules to remove."""

    def ping(self) -> None:
        # A list tells a bucket that isn't there from an object that isn't.
        with self._faults():
            obstore.list_with_delimiter(self._store, "ping")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as fault:
            raise Unavailable(
                f"The artifact store {self._address} refuses our keys ({brief(fault)}): "
                f"look at {VARIABLE}, and at what its keys may do."
            ) from None
        except (BaseError, FileNotFoundError) as fault:
            raise Unavailable(
                f"The artifact store {self._address} doesn't do what it should "
                f"({brief(fault)}): see whether it is up, whether its bucket exists, and "
                f"whether {VARIABLE} is right."
            ) from None


@contextmanager
def shortness_told(name: str) -> Iterator[None]:
    """We ask for no range. The library does, for the rest of a body that ended too soon; a
    server which has no such rest has a shorter object than it said.
    """
    try:
        yield
    except BaseError as fault:
        if NO_SUCH_RANGE in brief(fault):
            raise ArtifactDamaged(
                f"The artifact {name} isn't as large as its store says it is."
            ) from None
        raise


def brief(fault: Exception) -> str:
    """How the request ended. What the server said may name keys, and goes into no log."""
    first = str(fault).partition("<")[0].partition("\n")[0]
    return first.rpartition(" - ")[2].strip(" :")[:200]


def open_store(address: Address, patience_s: float) -> S3Store:
    # Not every server has the call that removes many at once.
    config: S3Config = {"region": address.region, "disable_bulk_delete": True}
    if address.endpoint:
        config["endpoint"] = address.endpoint
    if address.key and address.secret:
        config["access_key_id"] = address.key
        config["secret_access_key"] = address.secret
    client: ClientConfig = {
        "allow_http": bool(address.endpoint and address.endpoint.startswith("http://")),
        "connect_timeout": timedelta(seconds=min(CONNECT_S, patience_s)),
        # It counts anew with each read: what is large may take long, what is silent may not.
        "read_timeout": timedelta(seconds=patience_s),
        "timeout": timedelta(days=1),
    }
    retry: RetryConfig = {
        "max_retries": RETRIES,
        "retry_timeout": timedelta(seconds=patience_s / 2),
    }
    return S3Store(
        address.bucket,
        prefix=address.prefix or None,
        config=config,
        client_options=client,
        retry_config=retry,
    )
