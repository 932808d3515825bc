"""Configuration of the login library."""

from allauth.account.apps import AccountConfig


class LoginConfig(AccountConfig):  # type: ignore[misc]
    """The library's own configuration, without its check that its middleware is in `MIDDLEWARE`.

    That middleware is in `SIGNED_IN_MIDDLEWARE`: it acts only where people log in.
    """

    def ready(self) -> None:
        """Register the library's system checks."""
        from allauth.account import checks  # noqa: F401
