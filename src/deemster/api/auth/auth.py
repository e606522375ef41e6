"""What the API needs to know who asks, made from the settings."""

from dataclasses import dataclass

from deemster.api.auth.account_provisioner import AccountProvisioner
from deemster.api.auth.cookies import Cookies
from deemster.api.auth.devices import Devices
from deemster.api.auth.issuer import Issuer
from deemster.api.auth.jwt_auth import JwtAuth
from deemster.api.auth.oidc import Oidc
from deemster.api.auth.passwords import Passwords
from deemster.api.auth.throttle import Throttle
from deemster.api.dependencies import Dependencies
from deemster.domain.errors import Refused
from deemster.settings import Settings


@dataclass(frozen=True, slots=True)
class Auth:
    passwords: Passwords
    throttle: Throttle
    cookies: Cookies
    devices: Devices
    provisioner: AccountProvisioner
    jwt: JwtAuth | None
    """None: no JWTs are taken."""
    oidc: Oidc | None
    """None: nobody logs in elsewhere."""

    @classmethod
    def of(cls, dependencies: Dependencies) -> "Auth":
        settings = dependencies.settings
        check(settings)
        cookies = Cookies(settings, dependencies.secret)
        provisioner = AccountProvisioner(dependencies.pool, settings.jwt_role_claim)
        jwt, oidc = None, None
        if settings.jwt_issuer is not None:
            issuer = Issuer(settings.jwt_issuer, settings.jwt_jwks_url)
            if settings.jwt_audience is not None:
                jwt = JwtAuth(issuer, provisioner, audience=settings.jwt_audience)
            oidc = oidc_of(settings, issuer, dependencies.secret)
        return cls(
            passwords=Passwords(),
            throttle=Throttle(dependencies),
            cookies=cookies,
            devices=Devices(cookies, dependencies.secret),
            provisioner=provisioner,
            jwt=jwt,
            oidc=oidc,
        )


def oidc_of(settings: Settings, issuer: Issuer, secret: bytes) -> Oidc | None:
    if settings.oidc_client_id is None or settings.public_url is None:
        return None
    key = settings.oidc_client_secret
    return Oidc(
        issuer,
        secret,
        public_url=settings.public_url,
        client=settings.oidc_client_id,
        key=key.get_secret_value() if key is not None else None,
    )


def check(settings: Settings) -> None:
    """Settings that only make sense together."""
    if settings.public_url is not None and not settings.public_url.startswith(
        ("http://", "https://")
    ):
        raise Refused("The setting public_url begins with https:// or http://.")
    if settings.oidc_client_id is not None:
        if settings.jwt_issuer is None:
            raise Refused("The setting oidc_client_id needs jwt_issuer: who is asked there?")
        if settings.public_url is None:
            raise Refused("The setting oidc_client_id needs public_url, to come back to.")
    elif settings.jwt_issuer is not None and settings.jwt_audience is None:
        raise Refused(
            "The setting jwt_issuer needs jwt_audience: without it a token that was made for "
            "any other service would be good here."
        )
