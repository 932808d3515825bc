"""Judges signed receipts with PyPI joserfc and PyJWT. Runs with var/x402's Python.

The input is a JSON object: a JWK Set `jwks`, and `tokens`. The output is a JSON list with, for each token, the claims that each of
both found in it; null where it refuses the token.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import jwt
from joserfc import jws
from joserfc.jwk import KeySet

Claims = dict[str, Any]


def by_joserfc(token: str, jwks: Any) -> Claims:
    """The claims, by joserfc."""
    found: Claims = json.loads(
        jws.deserialize_compact(token, KeySet.import_key_set(jwks), algorithms=["EdDSA"]).payload
    )
    return found


def by_pyjwt(token: str, jwks: Any) -> Claims:
    """The claims, by PyJWT. Its clock may be behind ours."""
    key = jwt.PyJWKSet.from_dict(jwks)[jwt.get_unverified_header(token)["kid"]]
    found: Claims = jwt.decode(token, key, algorithms=["EdDSA"], options={"verify_iat": False})
    return found


def judged(judge: Callable[[str, Any], Claims], token: str, jwks: Any) -> Claims | None:
    """What one library says. Each refuses in exceptions of its own."""
    try:
        return judge(token, jwks)
    except Exception:  # noqa: BLE001 - whatever it raises is a refusal
        return None


def main() -> None:
    """Judge."""
    asked = json.load(sys.stdin)
    found = [[judged(judge, token, asked["jwks"]) for judge in (by_joserfc, by_pyjwt)] for token in asked["tokens"]]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
