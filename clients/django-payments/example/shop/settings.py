"""Settings of the shop. SHOP_URL is its own address; FLORIN_URL, FLORIN_KEY and FLORIN_SECRET are the merchant's."""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_HERE = urlsplit(os.environ["SHOP_URL"])
_FLORIN = {"url": os.environ["FLORIN_URL"], "key": os.environ["FLORIN_KEY"], "secrets": [os.environ["FLORIN_SECRET"]]}

# The shop keeps no session, so a new one at each start loses nothing.
SECRET_KEY = secrets.token_hex(32)
ALLOWED_HOSTS = [_HERE.hostname]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["payments", "shop"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ.get("SHOP_DATABASE", "shop.sqlite3")),
        # SQLite locks no rows. With this, a webhook and a buyer who come at once wait for each other.
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 30},
    }
}

PAYMENT_HOST = _HERE.netloc
PAYMENT_USES_SSL = _HERE.scheme == "https"
PAYMENT_MODEL = "shop.Payment"
PAYMENT_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "florin": ("florin_django_payments.FlorinProvider", _FLORIN),
    # In test mode it shows what a buyer sees who does not pay.
    "unpaid": ("florin_django_payments.FlorinProvider", {**_FLORIN, "checkout": {"test_scenario": "expired"}}),
}
