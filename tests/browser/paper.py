"""Pages as the browser prints them, read back by Ghostscript and zbar, which share no code with it."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from PIL import Image
from playwright.sync_api import Page, PdfMargins

_DOTS: Final = 200
_MILLIMETRES: Final = 25.4
# As browsers print what asks for no paper.
_MARGINS: Final[PdfMargins] = {"top": "10mm", "right": "10mm", "bottom": "10mm", "left": "10mm"}


@dataclass(frozen=True)
class Sheet:
    """A printed sheet: its width and height in whole millimetres, its words, and what a scanner reads on it."""

    size: tuple[int, int]
    text: str
    codes: list[str]


def printed(page: Page) -> list[Sheet]:
    """Print a page on the paper that its styles ask for, else on A4, and return its sheets."""
    if shutil.which("gs") is None:
        pytest.skip("this machine lacks Ghostscript, which reads what is printed")
    with TemporaryDirectory() as name:
        folder = Path(name)
        page.pdf(path=folder / "paper.pdf", format="A4", prefer_css_page_size=True, margin=_MARGINS)
        _ghostscript(folder, "pnggray", "png")
        _ghostscript(folder, "txtwrite", "txt")
        return [_sheet(picture) for picture in sorted(folder.glob("*.png"))]


def _ghostscript(folder: Path, device: str, suffix: str) -> None:
    command = ["gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", f"-sDEVICE={device}", f"-r{_DOTS}"]
    subprocess.run([*command, "-o", f"sheet-%03d.{suffix}", "paper.pdf"], cwd=folder, check=True, capture_output=True)


def _sheet(picture: Path) -> Sheet:
    with Image.open(picture) as image:
        width, height = (round(dots / _DOTS * _MILLIMETRES) for dots in image.size)
    # It fails where there is no code.
    read = subprocess.run(["zbarimg", "--quiet", "--raw", picture], capture_output=True, text=True, check=False)
    words = picture.with_suffix(".txt").read_text(encoding="utf-8").split()
    return Sheet((width, height), " ".join(words), read.stdout.split())
