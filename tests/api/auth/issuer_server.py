"""An OpenID Connect issuer over HTTP: keys, discovery, authorization codes with PKCE."""

import asyncio
import base64
import contextlib
import hashlib
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.waiting import until

AUDIENCE, CLIENT, SECRET = "judge", "judge-web", "a client's secret"
Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class Key:
    kid: str
    algorithm: str
    private: Private

    @classmethod
    def new(cls, kid: str, algorithm: str = "ES256") -> "Key":
        if algorithm.startswith(("RS", "PS")):
            return cls(kid, algorithm, rsa.generate_private_key(65537, 2048))
        if algorithm == "EdDSA":
            return cls(kid, algorithm, ed25519.Ed25519PrivateKey.generate())
        return cls(kid, algorithm, ec.generate_private_key(ec.SECP256R1()))

    @property
    def public(self) -> dict[str, Any]:
        kind: Any = ECAlgorithm
        if isinstance(self.private, rsa.RSAPrivateKey):
            kind = RSAAlgorithm
        elif isinstance(self.private, ed25519.Ed25519PrivateKey):
            kind = OKPAlgorithm
        result: dict[str, Any] = json.loads(kind.to_jwk(self.private.public_key()))
        return {**result, "kid": self.kid, "use": "sig"}


@dataclass(slots=True)
class IssuerServer:
    url: str = ""
    keys: list[Key] = field(default_factory=lambda: [Key.new("one")])
    fetched: int = 0
    """Number of requests for the keys."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    subject: str = "s-1"
    claims: dict[str, Any] = field(default_factory=dict)
    """Extra claims of log-ins."""
    by_form: bool = False
    server: uvicorn.Server | None = None

    def token(self, key: Key | None = None, **claims: Any) -> str:
        """A valid token, except for the given claims; None leaves a claim out."""
        key = key or self.keys[0]
        now = int(time.time())
        usual = {
            "iss": self.url,
            "sub": self.subject,
            "aud": AUDIENCE,
            "exp": now + 300,
            "iat": now,
        }
        result = {name: each for name, each in {**usual, **claims}.items() if each is not None}
        return jwt.encode(result, key.private, key.algorithm, headers={"kid": key.kid})

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.discover),
                Route("/keys", self.show_keys),
                Route("/authorize", self.authorize),
                Route("/token", self.exchange, methods=["POST"]),
            ]
        )

    async def discover(self, _request: Request) -> Response:
        methods = ["client_secret_post"] if self.by_form else ["client_secret_basic"]
        return JSONResponse(
            {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "token_endpoint_auth_methods_supported": methods,
            }
        )

    async def show_keys(self, _request: Request) -> Response:
        self.fetched += 1
        return JSONResponse({"keys": [key.public for key in self.keys]})

    async def authorize(self, request: Request) -> Response:
        """Accepts every log-in at once."""
        asked = dict(request.query_params)
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"]
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?code={code}&state={asked['state']}")

    async def exchange(self, request: Request) -> Response:
        form = {
            name: each[0] for name, each in parse_qs((await request.body()).decode()).items()
        }
        asked = self.codes.pop(form["code"], None)
        verifier = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        pair = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        known = (
            form.get("client_secret") == SECRET
            if self.by_form
            else request.headers.get("authorization") == f"Basic {pair}"
        )
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form["redirect_uri"]
            or not known
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = {"aud": CLIENT, "nonce": asked["nonce"], **self.claims}
        return JSONResponse({"id_token": self.token(**claims), "access_token": "x"})

    async def stop(self) -> None:
        assert self.server is not None
        self.server.should_exit = True
        port = urlsplit(self.url).port

        async def is_closed() -> bool:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return True
            writer.close()
            return False

        await until(is_closed)


@asynccontextmanager
async def issuing() -> AsyncIterator[IssuerServer]:
    issuer = IssuerServer()
    config = uvicorn.Config(issuer.app(), log_config=None, access_log=False, lifespan="off")
    server = issuer.server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    listening = socket.create_server(("127.0.0.1", 0))
    issuer.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve([listening]))
        await until(lambda: server.started)
        try:
            yield issuer
        finally:
            server.should_exit = True
