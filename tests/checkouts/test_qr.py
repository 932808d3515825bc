"""QR codes hold what they say, read by a program that knows nothing of ours."""

import re
import subprocess
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from checkouts.qr import QUIET_MODULES, QrCode, qr_code
from tests.checkouts.factories import ADDRESS

ADDRESSES = [
    ADDRESS,
    "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV",
    "UQBvW8Z5huBkMJYdnfAEM5JqTNkuWX3diqYENkWsIL0XggGG",
    "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
]
SCALE = 8
RUN = re.compile(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z")


def draw(code: QrCode) -> Image.Image:
    """The code as pixels, from its path alone."""
    side = (code.size + 2 * QUIET_MODULES) * SCALE
    image = Image.new("L", (side, side), 255)
    pencil = ImageDraw.Draw(image)
    for x, y, width, _ in (map(int, run) for run in RUN.findall(code.path)):
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
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.browser
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_code_is_read_back_under_the_logo(address: str, tmp_path: Path) -> None:
    image = draw(qr_code(address))
    cover_middle(image)
    assert read(image, tmp_path / "code.png") == address


def test_every_run_of_the_path_closes_on_itself_and_stays_inside() -> None:
    code = qr_code(ADDRESS)
    runs = [tuple(map(int, run)) for run in RUN.findall(code.path)]
    assert RUN.sub("", code.path) == ""
    assert all(width == back for _, _, width, back in runs)
    assert max(x + width for x, _, width, _ in runs) == code.size
    assert max(y for _, y, _, _ in runs) == code.size - 1


def test_the_quiet_zone_is_four_modules_wide_on_every_side() -> None:
    code = qr_code(ADDRESS)
    assert code.view_box == f"-4 -4 {code.size + 8} {code.size + 8}"


def test_an_address_is_drawn_once_and_remembered() -> None:
    assert qr_code(ADDRESS) is qr_code(ADDRESS)
