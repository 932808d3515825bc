"""Challenges of MPP: what a 402 asks, bound by an HMAC, so that nothing about it is stored.

Clients send a challenge back with what pays for it. Only its id, which is the HMAC of all the rest, makes it ours.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from florin_x402.catalogue import Option
from florin_x402.errors import RefusedError
from florin_x402.mpp.problems import ANOTHERS_LOGIN, MALFORMED, STRANGE
from florin_x402.prices import DECIMALS, Asked, Price
from florin_x402.wire import decode_url, encode_url

METHOD: Final = "evm"
AUTHORIZATION: Final = "authorization"
HASH: Final = "hash"

LIFE: Final = timedelta(minutes=5)
"""How long a payer has to sign or pay; longer where a price wants authorisations that are good for longer."""

SLACK: Final = timedelta(minutes=2)
"""How much longer than a price's seconds a challenge holds: no signature is good for longer than its challenge."""

_INTENT: Final = "charge"
# Also its order in the HMAC, of which `digest` is never used here: a body is not read before it is paid for.
_BOUND: Final = ("realm", "method", "intent", "request", "expires", "digest", "opaque")
_SALT_BYTES: Final = 9


@dataclass(frozen=True, slots=True)
class Challenge:
    """One way to pay, as a 402 writes it. `request` and `opaque` are JSON in Base64, `expires` is a time of RFC 3339."""

    id: str
    realm: str
    request: str
    expires: str
    opaque: str

    @property
    def asks(self) -> Mapping[str, Any]:
        """What is to be paid: amount, currency, recipient, methodDetails."""
        return decode_url(self.request)

    @property
    def ends_at(self) -> datetime:
        """When a payer may no longer begin to pay for it."""
        return datetime.fromisoformat(self.expires)

    def written(self, header: str = "") -> str:
        """Return what WWW-Authenticate says of it. `header` is where its credential is wanted, if not in Authorization."""
        told = {"id": self.id, "realm": self.realm, "method": METHOD, "intent": _INTENT}
        told |= {"request": self.request, "expires": self.expires, "opaque": self.opaque}
        told |= {"header": header} if header else {}
        return "Payment " + ", ".join(f'{name}="{value}"' for name, value in told.items())


class Challenges:
    """Issues challenges and recognises them. `origin` is the seller's address, `keys` are secrets, the newest one first."""

    def __init__(self, keys: Sequence[str], *, origin: str) -> None:
        self._keys = [key.encode() for key in keys]
        self._realm = urlsplit(origin).netloc

    def issued(self, asked: Asked, price: Price, option: Option, kinds: Sequence[str], *, now: datetime) -> Challenge:
        """Return a challenge for a request to be paid with an option of an EVM chain, by `kinds` of credentials."""
        request = encode_url(
            {
                "amount": str(price.units),
                "currency": option.asset,
                "recipient": option.pay_to,
                "methodDetails": {"chainId": option.chain_id, "credentialTypes": list(kinds), "decimals": DECIMALS},
            }
        )
        # Two requests of one payer at the same time are two: with one id, one signature would pay for either.
        salt = secrets.token_urlsafe(_SALT_BYTES)
        login = _login_of(self._keys[0], asked, salt)
        opaque = encode_url({"resource": _resource_of(asked), "salt": salt} | ({"login": login} if login else {}))
        life = max(LIFE, timedelta(seconds=price.seconds) + SLACK)
        expires = (now + life).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        bound = {"realm": self._realm, "request": request, "expires": expires, "opaque": opaque}
        return Challenge(_id_of(self._keys[0], {**bound, "method": METHOD, "intent": _INTENT}), **bound)

    def recognised(self, told: Mapping[str, Any], asked: Asked) -> Challenge:
        """Return the challenge that a payer sent back with a request. Raises RefusedError if it is not ours, or another resource's or login's."""
        fields = {name: told.get(name, "") for name in ("id", *_BOUND)}
        if not all(isinstance(value, str) for value in fields.values()):
            raise RefusedError(MALFORMED, "The challenge of a credential is an object of texts.")
        shown = str(fields["id"]).encode(errors="replace")
        if not any(hmac.compare_digest(shown, _id_of(key, fields).encode()) for key in self._keys):
            raise RefusedError(STRANGE, "This challenge is not this server's.")
        found = Challenge(**{name: str(fields[name]) for name in ("id", "realm", "request", "expires", "opaque")})
        opaque = decode_url(found.opaque)
        if found.realm != self._realm or opaque["resource"] != _resource_of(asked):
            raise RefusedError(STRANGE, "This challenge is for another resource.")
        login = str(opaque.get("login", "")).encode()
        logins = (_login_of(key, asked, opaque["salt"]).encode() for key in self._keys)
        if not any(hmac.compare_digest(login, one) for one in logins):
            raise RefusedError(ANOTHERS_LOGIN, "Send this credential with the login that its challenge was got with.")
        return found


def _id_of(key: bytes, told: Mapping[str, Any]) -> str:
    """Return the id of a challenge with these fields; what is absent counts as empty."""
    # No field that we write has the sign between them: one text cannot be read in two ways.
    text = "|".join(str(told.get(name, "")) for name in _BOUND)
    return _text_of(hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).digest())


def _resource_of(asked: Asked) -> str:
    """Return a digest of what is asked for. HEAD only shows the price of GET."""
    method = "GET" if asked.method == "HEAD" else asked.method
    # The URL has what `base_url` begins with: two applications of one host may have one secret, and paths of one name.
    text = f"{method} {asked.url} {asked.paths[0]}?{asked.query}"
    return _text_of(hashlib.sha256(text.encode(errors="surrogatepass")).digest())


def _login_of(key: bytes, asked: Asked, salt: str) -> str:
    """Return a digest of a request's login; "" without one. A price may depend on it.

    It is keyed, because a login may be a short password.
    """
    if not asked.authorization or credential_in(asked.authorization) is not None:
        return ""
    text = f"login|{salt}|{asked.authorization}"
    return _text_of(hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).digest())


def credential_in(header: str | None) -> str | None:
    """Return what follows the scheme's name in a header; None if it is of another scheme."""
    scheme, _, rest = (header or "").strip(" \t").partition(" ")
    return rest.strip(" \t") if scheme.lower() == "payment" else None


def _text_of(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
