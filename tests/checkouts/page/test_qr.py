"""QR codes hold what they say, read by a program that knows nothing of ours."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from checkouts.page.qr import QUIET_MODULES, QrCode, qr_code
from tests.checkouts.factories import ADDRESS

ADDRESSES = [
    ADDRESS,
    "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
    "UQBvW8Z5huBkMJYdnfAEM5JqTNkuWX3diqYENkWsIL0XggGG",
    "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
]
SOLANA_PAY = (
    "solana:7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV?amount=49.000137"
    "&spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    "&reference=HA4hQMs22nCuRN7iLDBsBkboz2SnLM1WkNtzLo6xEDY5"
    "&label=Halden%20Roasters&message=Ethiopia%20Guji%2C%203%20%C3%97%20250%20g%2C%20whole%20bean"
)
TON_TRANSFER = (
    "ton://transfer/UQBvW8Z5huBkMJYdnfAEM5JqTNkuWX3diqYENkWsIL0XggGG"
    "?jetton=EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs&amount=49000137&text=0123456789abcdef"
)
SCALE = 8
RUN = re.compile(r"(?:M(\d+) (\d+)|m(\d+) 0)h(\d+)")


def runs(code: QrCode) -> Iterator[tuple[int, int, int]]:
    """Where each line of the path begins, and how long it is."""
    x, y = 0, 0
    for left, top, gap, width in RUN.findall(code.path):
        x, y = (int(left), int(top)) if left else (x + int(gap), y)
        yield x, y, int(width)
        x += int(width)


def draw(code: QrCode) -> Image.Image:
    """The code as pixels, from its path alone."""
    side = (code.size + 2 * QUIET_MODULES) * SCALE
    image = Image.new("L", (side, side), 255)
    pencil = ImageDraw.Draw(image)
    for x, y, width in runs(code):
        left, top = (x + QUIET_MODULES) * SCALE, (y + QUIET_MODULES) * SCALE
        corner = (left + width * SCALE - 1, top + SCALE - 1)
        pencil.rectangle(((left, top), corner), fill=0)
    return image


def cover_middle(image: Image.Image) -> None:
    """Put a white disc where the token's logo goes, which is 34 of 188 pixels wide."""
    radius, middle = image.width * 17 // 188, image.width // 2
    box = (middle - radius, middle - radius, middle + radius, middle + radius)
    ImageDraw.Draw(image).ellipse(box, fill=255)


def read(image: Image.Image, path: Path) -> str:
    """What zbar reads in a picture."""
    image.save(path)
    command = ["zbarimg", "--quiet", "--raw", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.browser
@pytest.mark.parametrize("text", [*ADDRESSES, SOLANA_PAY, TON_TRANSFER])
def test_a_code_is_read_back_under_the_logo_if_it_has_one(text: str, tmp_path: Path) -> None:
    code = qr_code(text)
    image = draw(code)
    if not code.is_dense:
        cover_middle(image)
    assert read(image, tmp_path / "code.png") == text


def test_every_line_of_the_path_stays_inside() -> None:
    code = qr_code(ADDRESS)
    assert RUN.sub("", code.path) == ""
    assert max(x + width for x, _, width in runs(code)) == code.size
    assert {y for _, y, _ in runs(code)} == set(range(code.size))


def test_the_quiet_zone_is_four_modules_wide_on_every_side() -> None:
    code = qr_code(ADDRESS)
    assert code.view_box == f"-4 -4.5 {code.size + 8} {code.size + 8}"


def test_long_codes_get_more_room_and_no_logo() -> None:
    assert [qr_code(text).is_dense for text in ADDRESSES] == [False] * len(ADDRESSES)
    assert qr_code(SOLANA_PAY).is_dense
    assert qr_code(TON_TRANSFER).is_dense


def test_an_address_is_drawn_once_and_remembered() -> None:
    assert qr_code(ADDRESS) is qr_code(ADDRESS)
