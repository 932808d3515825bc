"""The address that a request claims to have reached. Only the payer that sent it sees this."""

import re
from typing import Final

_HOST: Final = re.compile(r"(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


def is_host(text: str) -> bool:
    """Whether a text is a host, perhaps with a port."""
    return _HOST.fullmatch(text) is not None


def origin_of(scheme: str, host: str) -> str:
    """Return scheme and host; a reserved name if the host is invalid."""
    known = scheme if scheme in {"http", "https"} else "https"
    return f"{known}://{host}" if is_host(host) else f"{known}://host.invalid"
