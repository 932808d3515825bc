"""Vietnamese date formats without the word for day, for use inside sentences."""

DATE_FORMAT = r"j \t\h\á\n\g n, Y"
