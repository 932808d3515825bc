"""QR codes as one SVG path, made on the server so that they need no script and no data: image. Pure."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import qrcode
from qrcode.constants import ERROR_CORRECT_M, ERROR_CORRECT_Q

# ISO/IEC 18004 asks for four blank modules around the code.
QUIET_MODULES = 4
# From here on the modules get so small that fewer of them help a camera more than what could be repaired.
LONG_TEXT = 100
DENSE_MODULES = 45


@dataclass(frozen=True, slots=True)
class QrCode:
    """A square of `size` modules; `path`, stroked one unit wide, draws the dark ones."""

    size: int
    path: str

    @property
    def is_dense(self) -> bool:
        """Whether it needs more room than an address does, and all of it, to be read from a screen: no logo then."""
        return self.size > DENSE_MODULES

    @property
    def view_box(self) -> str:
        """The SVG viewBox that leaves the quiet zone around the code; a line's middle is half a unit below its edge."""
        side = self.size + 2 * QUIET_MODULES
        return f"{-QUIET_MODULES} {-QUIET_MODULES}.5 {side} {side}"


def qr_rows(text: str) -> list[list[bool]]:
    """Return the modules of the code of `text`, true where dark, without the quiet zone.

    A quarter of it may be lost, for the token's logo covers a twentieth; of a long one a seventh.
    """
    level = ERROR_CORRECT_M if len(text) > LONG_TEXT else ERROR_CORRECT_Q
    code = qrcode.QRCode(error_correction=level, border=0)
    code.add_data(text)
    code.make(fit=True)
    return code.get_matrix()


@lru_cache(maxsize=1024)
def qr_code(text: str) -> QrCode:
    """Draw the code of `text`."""
    rows = qr_rows(text)
    return QrCode(size=len(rows), path="".join(map(_row_path, range(len(rows)), rows)))


def _row_path(y: int, row: list[bool]) -> str:
    """Lines and gaps from left to right: small numbers, which compress to half of what corners would."""
    path, gap, begun = "", 0, False
    for is_dark, modules in groupby(row):
        width = len(list(modules))
        if is_dark:
            path += (f"m{gap} 0" if begun else f"M{gap} {y}") + f"h{width}"
            begun = True
        gap = 0 if is_dark else width
    return path
