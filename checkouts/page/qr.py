"""QR codes as one SVG path or an SVG file, made on the server: no script and no data: image is needed. Pure."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import qrcode
from qrcode.constants import ERROR_CORRECT_M, ERROR_CORRECT_Q

# ISO/IEC 18004 requires four blank modules around the code.
QUIET_MODULES = 4
# From this size on, fewer and larger modules help a camera more than error correction.
LONG_TEXT = 100
DENSE_MODULES = 45


@dataclass(frozen=True, slots=True)
class QrCode:
    """A square of `size` modules; `path`, with a stroke one unit wide, draws the dark ones."""

    size: int
    path: str

    @property
    def is_dense(self) -> bool:
        """Whether it is too dense to lose any modules to a logo."""
        return self.size > DENSE_MODULES

    @property
    def view_box(self) -> str:
        """Return the SVG viewBox with the quiet zone; a line's middle is half a unit below its edge."""
        side = self.size + 2 * QUIET_MODULES
        return f"{-QUIET_MODULES} {-QUIET_MODULES}.5 {side} {side}"


def qr_rows(text: str) -> list[list[bool]]:
    """Return the modules of the code of `text`, True for dark, without the quiet zone.

    Error correction restores a quarter of the modules (a seventh in a long code); the token's logo covers a twentieth.
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


@lru_cache(maxsize=256)
def qr_svg(text: str) -> bytes:
    """Return the code of `text` as an SVG file, black on white."""
    code = qr_code(text)
    x, y = code.view_box.split()[:2]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512"'
        f' viewBox="{code.view_box}" shape-rendering="crispEdges">'
        f'<rect x="{x}" y="{y}" width="100%" height="100%" fill="#fff"/>'
        f'<path d="{code.path}" stroke="#000" fill="none"/></svg>\n'
    ).encode()


def _row_path(y: int, row: list[bool]) -> str:
    """Return a row's path as lines and gaps: small numbers, which compress to half of what corners would."""
    path, gap, begun = "", 0, False
    for is_dark, modules in groupby(row):
        width = len(list(modules))
        if is_dark:
            path += (f"m{gap} 0" if begun else f"M{gap} {y}") + f"h{width}"
            begun = True
        gap = 0 if is_dark else width
    return path
