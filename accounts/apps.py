"""How the login library is put in."""

from allauth.account.apps import AccountConfig


class LoginConfig(AccountConfig):  # type: ignore[misc]
    """The library's own configuration, except that it refuses a middleware which is not in `MIDDLEWARE`.

    Ours is in `SIGNED_IN_MIDDLEWARE`: it acts only where people log in.
    """

    def ready(self) -> None:
        """Register the library's system checks."""
        from allauth.account import checks  # noqa: F401
