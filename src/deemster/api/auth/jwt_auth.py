"""Bearer tokens that are another issuer's JWTs: known for a moment, as our own are (O6)."""

from typing import Final

from deemster.api.auth.account_provisioner import AccountProvisioner
from deemster.api.auth.credential_cache import KEPT_S
from deemster.api.auth.issuer import Issuer
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account
from deemster.store.accounts import TOKEN_PREFIX

MOST_KNOWN: Final = 2_000


class JwtAuth:
    def __init__(
        self, issuer: Issuer, provisioner: AccountProvisioner, *, audience: str
    ) -> None:
        self._issuer = issuer
        self._provisioner = provisioner
        self._audience = audience
        self._known: SingleFlightCache[str, Account] = SingleFlightCache(
            self._look, keep_s=KEPT_S, max_entries=MOST_KNOWN
        )

    async def account(self, token: str, *, afresh: bool = False) -> Account:
        if afresh:
            self._known.forget(token)
        return await self._known.get(token)

    async def _look(self, token: str) -> Account:
        claims = await self._issuer.claims(token, audience=self._audience)
        return await self._provisioner.account_of(claims)


def looks_like_jwt(token: str) -> bool:
    return token.count(".") == 2 and not token.startswith(TOKEN_PREFIX)
