"""An S3 server that promises more than it has, as one does whose object was cut short."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deemster.store.artifacts import ArtifactDamaged
from deemster.store.artifacts.s3 import S3Backend, parse_address

PROMISED = b"content"


class Liar(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if "range" in self.headers:
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(PROMISED)))
        self.send_header("ETag", '"one"')
        self.send_header("Last-Modified", "Mon, 16 Nov 2026 05:00:00 GMT")
        self.end_headers()
        self.wfile.write(PROMISED[:3])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing to standard error."""


@pytest.fixture
def liar() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_j11_what_is_shorter_than_promised_is_damaged(liar: str) -> None:
    bucket = S3Backend(parse_address(f"s3://key:secret@artifacts?endpoint={liar}"), 10.0)
    with pytest.raises(ArtifactDamaged, match="isn't as large as its store says"):
        list(bucket.read("content/some"))
