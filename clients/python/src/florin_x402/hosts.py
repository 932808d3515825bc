"""The address that a request says it came to, which is shown to the payer who sent it and to nobody else."""

import re
from typing import Final

_HOST: Final = re.compile(
    r"(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?",
    re.ASCII | re.IGNORECASE,
)


def origin_of(scheme: str, host: str) -> str:
    """Return scheme and host, or a name that is nobody's where the host cannot be one."""
    known = scheme if scheme in {"http", "https"} else "https"
    return f"{known}://{host}" if _HOST.fullmatch(host) else f"{known}://host.invalid"
