"""Path converters of the dashboard: merchant and mode. Other values match no route."""

from django.urls import register_converter

from accounts.states import Mode
from gateway.core.ids import ALPHABET, LENGTH


class MerchantConverter:
    """A merchant's public id."""

    regex = f"mer_[{ALPHABET.decode()}]{{{LENGTH}}}"

    def to_python(self, value: str) -> str:
        """Return it unchanged."""
        return value

    def to_url(self, value: str) -> str:
        """Return it unchanged."""
        return value


class ModeConverter:
    """`live` or `test`."""

    regex = "|".join(Mode.values)

    def to_python(self, value: str) -> Mode:
        """Return the mode."""
        return Mode(value)

    def to_url(self, value: str) -> str:
        """Return it as paths spell it."""
        return str(value)


register_converter(MerchantConverter, "merchant")
register_converter(ModeConverter, "mode")
