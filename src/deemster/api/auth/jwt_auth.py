"""Accepts JWTs of an external issuer as bearer tokens, and caches their accounts (O6)."""

from typing import Final

from deemster.api.auth.account_provisioner import AccountProvisioner
from deemster.api.auth.credential_cache import KEPT_S
from deemster.api.auth.issuer import Issuer
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account
from deemster.store.accounts import TOKEN_PREFIX

MAX_ENTRIES: Final = 2_000


class JwtAuth:
    def __init__(
        self, issuer: Issuer, provisioner: AccountProvisioner, *, audience: str
    ) -> None:
        self._issuer = issuer
        self._provisioner = provisioner
        self._audience = audience
        self._accounts: SingleFlightCache[str, Account] = SingleFlightCache(
            self._verify, keep_s=KEPT_S, max_entries=MAX_ENTRIES
        )

    async def account(self, token: str, *, fresh: bool = False) -> Account:
        if fresh:
            self._accounts.forget(token)
        return await self._accounts.get(token)

    async def _verify(self, token: str) -> Account:
        claims = await self._issuer.claims(token, audience=self._audience)
        return await self._provisioner.account_of(claims)


def is_jwt(token: str) -> bool:
    return token.count(".") == 2 and not token.startswith(TOKEN_PREFIX)
