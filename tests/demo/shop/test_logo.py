"""The demo shop's logo."""

import io

from PIL import Image

from demo.shop.logo import GREEN, shop_logo


def test_the_logo_is_the_same_square_picture_each_time() -> None:
    drawn = shop_logo()
    assert drawn == shop_logo()
    picture = Image.open(io.BytesIO(drawn))
    assert (picture.format, picture.size) == ("PNG", (512, 512))
    assert picture.convert("RGB").getpixel((0, 0)) == tuple(bytes.fromhex(GREEN[1:]))
