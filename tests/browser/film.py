"""Film strips of a payment on a phone: its screens in order, side by side, for people to look at."""

from typing import Final

from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page

from tests.browser.conftest import PHONE
from tests.exhaustive import EXHAUSTIVE
from tests.tree import ROOT

FOLDER: Final = ROOT / "var" / "films"
_GAP: Final = 16
_CAPTION: Final = 32


class Film:
    """The screens of one payment: var/films/<name>-<number>.png, and all of them in <name>.png.

    `page` is what is filmed; it may be another one from some step on. Only an exhaustive run takes pictures.
    """

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.steps: list[str] = []
        if EXHAUSTIVE:
            for path in FOLDER.glob(f"{name}-*.png"):
                path.unlink()

    def take(self, step: str, part: Locator | None = None) -> None:
        """Take the screen as it is, with `part` in its middle."""
        self.steps.append(step)
        if not EXHAUSTIVE:
            return
        if part is not None:
            part.evaluate("(part) => part.scrollIntoView({ block: 'center' })")
        path = FOLDER / f"{self.name}-{len(self.steps)}.png"
        self.page.screenshot(path=path, animations="disabled")

    def join(self) -> None:
        """Put the screens side by side, each under its number and step."""
        if not EXHAUSTIVE:
            return
        width, height = PHONE["width"], PHONE["height"]
        strip = Image.new("RGB", (len(self.steps) * (width + _GAP) - _GAP, _CAPTION + height), "white")
        draw = ImageDraw.Draw(strip)
        for number, step in enumerate(self.steps, start=1):
            left = (number - 1) * (width + _GAP)
            draw.text((left, 6), f"{number} {step}", fill="black", font_size=18)
            with Image.open(FOLDER / f"{self.name}-{number}.png") as screen:
                strip.paste(screen, (left, _CAPTION))
        strip.save(FOLDER / f"{self.name}.png")
