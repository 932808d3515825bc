"""Vietnamese dates, without the word for day: they stand in the middle of sentences."""

DATE_FORMAT = r"j \t\h\á\n\g n, Y"
