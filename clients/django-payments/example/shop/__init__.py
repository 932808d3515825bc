"""A shop of one page, which sells two cups of tea by django-payments through Florin."""
