"""Indonesian dates, with the name of the month in full as everywhere."""

DATE_FORMAT = "j F Y"
