"""Spanish formats: numbers as gateway.core.web.numbers writes them, such as `1 250.0045`, with a space that does not break."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = "\N{NO-BREAK SPACE}"
