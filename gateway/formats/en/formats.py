"""English date formats for British and American readers."""

DATE_FORMAT = "j F Y"
