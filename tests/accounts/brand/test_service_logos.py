"""Logos are drawn anew: whatever was sent in, only pixels come out, few of them, or words for a person."""

import io
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, PngImagePlugin

from accounts.brand.service import MAX_BYTES, MAX_PIXELS, MAX_SCANS, MAX_SIDE, MAX_UPLOAD_BYTES, LogoError, redraw

PNG = b"\x89PNG\r\n\x1a\n"
SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script></svg>"""
RED = (200, 30, 40, 255)


def a_picture(size: tuple[int, int] = (64, 48), mode: str = "RGBA", colour: Any = RED) -> Image.Image:
    return Image.new(mode, size, colour)


def encoded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=("PNG",))


def pixel_of(data: bytes) -> tuple[int, ...]:
    """Red, green, blue and opacity, somewhere in the middle."""
    pixel = opened(data).getpixel((9, 9))
    assert isinstance(pixel, tuple)
    return pixel


def chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def chunk_kinds(png: bytes) -> list[bytes]:
    """The names of a PNG's chunks, in order; fails where the file does not end with the last of them."""
    kinds, at = [], len(PNG)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kinds.append(png[at + 4 : at + 8])
        at += 12 + length
    assert at == len(png)
    return kinds


def a_bomb(width: int, height: int) -> bytes:
    """A small PNG that says it is huge, and is: its zeros compress a thousand times."""
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    squeezer = zlib.compressobj(9)
    body = b"".join(squeezer.compress(b"\0" * 1_000_000) for _ in range(20))
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", body + squeezer.flush()) + chunk(b"IEND", b"")


def animated(kind: str) -> bytes:
    frames = [a_picture(mode="RGB", colour=colour) for colour in ("red", "blue")]
    return encoded(frames[0], kind, save_all=True, append_images=frames[1:])


GOOD: dict[str, Callable[[], bytes]] = {
    "png": lambda: encoded(a_picture()),
    "palette": lambda: encoded(a_picture(mode="P", colour=3)),
    "grey": lambda: encoded(a_picture(mode="L", colour=90)),
    "bits": lambda: encoded(a_picture(mode="1", colour=1)),
    "sixteen-bits": lambda: encoded(a_picture(mode="I;16", colour=40_000)),
    "jpeg": lambda: encoded(a_picture(mode="RGB", colour=RED[:3]), "JPEG"),
    "print-jpeg": lambda: encoded(a_picture(mode="CMYK", colour=(10, 200, 30, 0)), "JPEG"),
    "webp": lambda: encoded(a_picture(), "WEBP", lossless=True),
    "gif": lambda: encoded(a_picture(mode="P", colour=3), "GIF"),
    "animated-gif": lambda: animated("GIF"),
    "animated-webp": lambda: animated("WEBP"),
    "animated-png": lambda: animated("PNG"),
}


@pytest.mark.parametrize("kind", GOOD)
def test_every_kind_of_picture_comes_out_as_png_with_nothing_but_pixels(kind: str) -> None:
    drawn = redraw(GOOD[kind]())
    assert opened(drawn).size == (64, 48)
    kinds = chunk_kinds(drawn)
    assert kinds[0] == b"IHDR"
    assert set(kinds[1:-1]) == {b"IDAT"}
    assert kinds[-1] == b"IEND"


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_gives_its_first_frame(kind: str) -> None:
    red, green, blue, opacity = pixel_of(redraw(animated(kind)))
    assert red > 240
    assert max(green, blue) < 15
    assert opacity == 255


def test_what_is_clear_stays_clear_and_grey_of_sixteen_bits_keeps_its_shade() -> None:
    clear = redraw(encoded(a_picture(colour=(9, 9, 9, 0))))
    assert pixel_of(clear)[3] == 0
    assert pixel_of(redraw(GOOD["sixteen-bits"]())) == (156, 156, 156, 255)


def test_a_large_picture_is_made_smaller_in_its_own_shape() -> None:
    assert opened(redraw(encoded(a_picture((2000, 500))))).size == (512, 128)
    assert opened(redraw(encoded(a_picture((20, 10))))).size == (20, 10)
    assert opened(redraw(encoded(a_picture((1, 9000))))).size == (1, 512)


def test_noise_is_made_smaller_until_it_fits() -> None:
    noise = random.Random(7).randbytes(4 * 600 * 600)
    drawn = redraw(encoded(Image.frombytes("RGBA", (600, 600), noise)))
    assert len(drawn) <= MAX_BYTES
    assert max(opened(drawn).size) >= 192


def test_no_word_that_came_with_the_picture_gets_through() -> None:
    told = PngImagePlugin.PngInfo()
    told.add_text("Author", "secret-author")
    told.add_itxt("Comment", "secret-comment", zip=True)
    exif = Image.Exif()
    exif[0x010E] = "secret-description"
    picture = a_picture()
    picture.info["dpi"] = (72, 72)
    sent = encoded(picture, pnginfo=told, exif=exif, dpi=(72, 72), icc_profile=b"secret-profile")
    assert b"secret-author" in sent
    drawn = redraw(sent + b"secret-tail")
    assert b"secret" not in drawn
    assert set(chunk_kinds(drawn)) == {b"IHDR", b"IDAT", b"IEND"}


def test_a_polyglot_loses_its_second_life() -> None:
    page = b"<script>alert(1)</script>"
    for polyglot in (
        encoded(a_picture()) + page,
        encoded(a_picture(mode="RGB", colour="red"), "JPEG", comment=page),
        encoded(a_picture(mode="P", colour=1), "GIF", comment=page),
    ):
        assert page in polyglot
        assert page not in redraw(polyglot)


def test_a_photograph_is_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    lying = encoded(a_picture((60, 40), "RGB", "red"), "JPEG", exif=exif)
    assert opened(redraw(lying)).size == (40, 60)


def test_a_bomb_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: Any) -> None:
        pytest.fail("decoded")

    bombs = [a_bomb(7_000, 7_000), a_bomb(20_000, 20_000), a_bomb(2**31 - 1, 1)]
    assert max(map(len, bombs)) < MAX_UPLOAD_BYTES
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", explode)
    for bomb in bombs:
        with pytest.raises(LogoError, match="ten million pixels"):
            redraw(bomb)
    # The control: what is small enough is decoded.
    with pytest.raises(pytest.fail.Exception, match="decoded"):
        redraw(a_bomb(100, MAX_PIXELS // 100))


def test_a_jpeg_that_would_be_walked_over_a_thousand_times_is_refused_before_it_is_decoded() -> None:
    sent = encoded(a_picture(mode="RGB", colour="red"), "JPEG", progressive=True)
    scan = sent.index(b"\xff\xda")
    scans = sent[scan:].count(b"\xff\xda")
    assert scans > 1
    # An empty scan of one component's last coefficient, as often as there is room for.
    empty = b"\xff\xda\x00\x08\x01\x01\x00\x3f\x3f\x00"
    redraw(sent[:-2] + empty * (MAX_SCANS - scans) + sent[-2:])
    with pytest.raises(LogoError, match="PNG, JPEG, WebP or GIF"):
        redraw(sent[:-2] + empty * (MAX_SCANS - scans + 1) + sent[-2:])
    # Elsewhere the same two bytes are chance.
    redraw(encoded(a_picture()) + b"\xff\xda" * (MAX_SCANS + 1))


def test_a_bomb_of_words_inside_a_small_picture_is_refused() -> None:
    words = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"\0" * 100_000_000, 9))
    plain = encoded(a_picture())
    with pytest.raises(LogoError, match="PNG, JPEG, WebP or GIF"):
        redraw(plain[:33] + words + plain[33:])


def test_more_than_two_megabytes_are_refused_unread() -> None:
    with pytest.raises(LogoError, match="2 MB"):
        redraw(encoded(a_picture()) + b"\0" * MAX_UPLOAD_BYTES)


def a_bitmap() -> bytes:
    return encoded(a_picture(mode="RGB", colour="red"), "BMP")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        SVG,
        b'<?xml version="1.0"?>' + SVG,
        zlib.compress(SVG),
        b"GIF89a",
        PNG,
        b"%PDF-1.7",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        a_bitmap(),
        encoded(a_picture(), "TIFF"),
        encoded(a_picture(), "ICO"),
        encoded(a_picture())[:-40],
        encoded(a_picture((300, 300), "RGB", "red"), "JPEG")[:-400],
    ],
)
def test_everything_else_is_refused_with_words_for_a_person(data: bytes) -> None:
    with pytest.raises(LogoError, match="PNG, JPEG, WebP or GIF") as refused:
        redraw(data)
    assert refused.value.param == "logo"
    assert refused.value.code == "logo_invalid"


def detailed(kind: str) -> bytes:
    picture = a_picture((40, 30), "RGB", "white")
    ImageDraw.Draw(picture).ellipse((4, 4, 30, 26), fill="navy", outline="red")
    return encoded(picture, kind)


SAMPLES = [detailed(kind) for kind in ("PNG", "JPEG", "WEBP", "GIF")]


@settings(max_examples=300, deadline=None)
@given(
    sample=st.sampled_from(SAMPLES),
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=6))),
    cut=st.integers(0, 10_000),
)
@example(sample=SAMPLES[0], changes=[], cut=0)
def test_no_damage_gets_past_it(sample: bytes, changes: list[tuple[int, bytes]], cut: int) -> None:
    damaged = bytearray(sample)
    for place, data in changes:
        at = place % len(damaged)
        damaged[at : at + len(data)] = data
    try:
        drawn = redraw(bytes(damaged[: len(damaged) - cut % len(damaged)]))
    except LogoError:
        return
    assert len(drawn) <= MAX_BYTES
    assert max(opened(drawn).size) <= MAX_SIDE
    assert set(chunk_kinds(drawn)) == {b"IHDR", b"IDAT", b"IEND"}
