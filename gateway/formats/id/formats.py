"""Indonesian date formats, with the month's name in full."""

DATE_FORMAT = "j F Y"
