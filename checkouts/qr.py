"""QR codes as one SVG path, made on the server so that they need no script and no data: image. Pure."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import qrcode
from qrcode.constants import ERROR_CORRECT_Q

# ISO/IEC 18004 asks for four blank modules around the code.
QUIET_MODULES = 4


@dataclass(frozen=True, slots=True)
class QrCode:
    """A square of `size` modules; `path` draws the dark ones, each one unit wide."""

    size: int
    path: str

    @property
    def view_box(self) -> str:
        """The SVG viewBox that leaves the quiet zone around the code."""
        side = self.size + 2 * QUIET_MODULES
        return f"{-QUIET_MODULES} {-QUIET_MODULES} {side} {side}"


@lru_cache(maxsize=1024)
def qr_code(text: str) -> QrCode:
    """Draw `text` with error correction Q: a quarter may be lost, and the token's logo covers a twentieth."""
    code = qrcode.QRCode(error_correction=ERROR_CORRECT_Q, border=0)
    code.add_data(text)
    code.make(fit=True)
    rows = code.get_matrix()
    return QrCode(size=len(rows), path="".join(map(_row_path, range(len(rows)), rows)))


def _row_path(y: int, row: list[bool]) -> str:
    x, path = 0, []
    for is_dark, modules in groupby(row):
        width = len(list(modules))
        if is_dark:
            path.append(f"M{x} {y}h{width}v1h-{width}z")
        x += width
    return "".join(path)
