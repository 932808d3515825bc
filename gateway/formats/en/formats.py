"""English dates, for readers on both sides of the Atlantic."""

DATE_FORMAT = "j F Y"
