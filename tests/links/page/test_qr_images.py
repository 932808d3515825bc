"""The QR codes of links, read by a program that knows nothing of ours."""

import io
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from checkouts.page.qr import qr_svg
from links.page.qr_images import SCALE, qr_png
from tests.contract.client import ApiClient

ADDRESS = "https://pay.example/p/0123456789abcdefghjkmnpqrs"


def decoded(picture: Path) -> str:
    read = subprocess.run(["zbarimg", "--quiet", "--raw", str(picture)], capture_output=True, text=True, check=True)
    return read.stdout.strip()


def test_the_png_is_a_valid_picture_that_holds_the_address(tmp_path: Path) -> None:
    picture = tmp_path / "qr.png"
    picture.write_bytes(qr_png(ADDRESS))
    image = Image.open(picture)
    image.verify()
    assert image.size[0] == image.size[1]
    assert image.size[0] % SCALE == 0
    assert decoded(picture) == ADDRESS


@pytest.mark.parametrize("length", range(1, 120, 7))
def test_every_size_is_a_square_with_a_quiet_zone(length: int) -> None:
    image = Image.open(io.BytesIO(qr_png("x" * length))).convert("L")
    margin = 4 * SCALE
    assert image.crop((0, 0, image.width, margin)).getextrema() == (255, 255)
    assert image.crop((0, 0, margin, image.height)).getextrema() == (255, 255)
    assert image.getpixel((margin, margin)) == 0
    assert image.getpixel((image.width - margin - 1, margin)) == 0


def test_the_svg_draws_in_black_on_white_and_loads_nothing() -> None:
    text = qr_svg(ADDRESS).decode()
    assert text.count("<path") == text.count("<rect") == 1
    assert "href" not in text
    assert "style" not in text


def test_a_link_hands_out_its_own_code(tester: ApiClient, tmp_path: Path) -> None:
    link = tester.post("/links", {"title": "Tea", "amount": "25"}).body
    png = tester.get(f"/links/{link['id']}/qr.png")
    assert png.headers["Content-Type"] == "image/png"
    assert png.headers["Content-Disposition"] == f'inline; filename="{link["id"]}.png"'
    picture = tmp_path / "qr.png"
    picture.write_bytes(png.raw)
    assert decoded(picture) == link["url"]
    svg = tester.get(f"/links/{link['id']}/qr.svg")
    assert svg.headers["Content-Type"] == "image/svg+xml"
    assert svg.raw == qr_svg(link["url"])
