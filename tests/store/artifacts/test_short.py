"""An S3 server whose object is shorter than its Content-Length."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deemster.store.artifacts import ArtifactDamaged
from deemster.store.artifacts.s3 import S3Backend, parse_address

ANNOUNCED = b"content"


class ShortServer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if "range" in self.headers:
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(ANNOUNCED)))
        self.send_header("ETag", '"one"')
        self.send_header("Last-Modified", "Mon, 16 Nov 2026 05:00:00 GMT")
        self.end_headers()
        self.wfile.write(ANNOUNCED[:3])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@pytest.fixture
def short_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ShortServer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_j11_an_artifact_shorter_than_announced_is_damaged(short_server: str) -> None:
    bucket = S3Backend(
        parse_address(f"s3://key:secret@artifacts?endpoint={short_server}"), 10.0
    )
    with pytest.raises(ArtifactDamaged, match="is not as large as its store says"):
        list(bucket.read("content/some"))
