"""Configuration of the accounts app and of the login library."""

from allauth.account.apps import AccountConfig
from django.apps import AppConfig

from gateway.core import daily_totals


class AccountsConfig(AppConfig):
    """Registers the kept totals of fees."""

    name = "accounts"
    default = True

    def ready(self) -> None:
        """Register the kept totals."""
        from accounts.fees.service import FEE_DAYS

        daily_totals.register(FEE_DAYS)


class LoginConfig(AccountConfig):  # type: ignore[misc]
    """The library's own configuration, without its check that its middleware is in `MIDDLEWARE`.

    That middleware is in `SIGNED_IN_MIDDLEWARE`: it acts only where people log in.
    """

    def ready(self) -> None:
        """Register the library's system checks."""
        from allauth.account import checks  # noqa: F401
