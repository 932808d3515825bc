"""Charges machines for HTTP requests by x402, both protocols: middleware for servers, and a payer.

`florin_x402.django`, `.asgi` and `.wsgi` protect an application; `florin_x402.payer` pays.
"""

from florin_x402.admissions import Payment
from florin_x402.bazaar import Listing
from florin_x402.config import Config
from florin_x402.errors import SettingsError
from florin_x402.prices import Asked, Price

__all__ = ["Asked", "Config", "Listing", "Payment", "Price", "SettingsError"]
