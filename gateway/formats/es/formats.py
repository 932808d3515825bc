"""Spanish formats: numbers look the same in every language, such as `1,250.0045`."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
