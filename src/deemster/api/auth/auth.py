"""Creates all parts of authentication from the settings."""

from dataclasses import dataclass

from deemster.api.auth.account_provisioner import AccountProvisioner
from deemster.api.auth.cookies import Cookies, Devices
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
    """None: JWTs are not accepted."""
    oidc: Oidc | None
    """None: OpenID Connect is not configured."""

    @classmethod
    def of(cls, dependencies: Dependencies) -> "Auth":
        settings = dependencies.settings
        check_settings(settings)
        cookies = Cookies(settings, dependencies.secret)
        provisioner = AccountProvisioner(dependencies.pool, settings.jwt_role_claim)
        jwt, oidc = None, None
        if settings.jwt_issuer is not None:
            issuer = Issuer(settings.jwt_issuer, settings.jwt_jwks_url)
            if settings.jwt_audience is not None:
                jwt = JwtAuth(issuer, provisioner, audience=settings.jwt_audience)
            oidc = create_oidc(settings, issuer, dependencies.secret)
        return cls(
            passwords=Passwords(),
            throttle=Throttle(dependencies),
            cookies=cookies,
            devices=Devices(cookies, dependencies.secret),
            provisioner=provisioner,
            jwt=jwt,
            oidc=oidc,
        )


def create_oidc(settings: Settings, issuer: Issuer, secret: bytes) -> Oidc | None:
    if settings.oidc_client_id is None or settings.public_url is None:
        return None
    secret_setting = settings.oidc_client_secret
    return Oidc(
        issuer,
        secret,
        public_url=settings.public_url,
        client_id=settings.oidc_client_id,
        client_secret=secret_setting.get_secret_value() if secret_setting else None,
    )


def check_settings(settings: Settings) -> None:
    if settings.public_url is not None and not settings.public_url.startswith(
        ("http://", "https://")
    ):
        raise Refused("The setting public_url must begin with https:// or http://.")
    if settings.oidc_client_id is not None:
        if settings.jwt_issuer is None:
            raise Refused("The setting oidc_client_id also needs jwt_issuer, the issuer's URL.")
        if settings.public_url is None:
            raise Refused(
                "The setting oidc_client_id also needs public_url, for the redirect back."
            )
    elif settings.jwt_issuer is not None and settings.jwt_audience is None:
        raise Refused(
            "The setting jwt_issuer also needs jwt_audience: without it, a token for any other "
            "service would be valid here."
        )
