"""Posts what a buyer signed, `{code, ticket, signature}` as JSON on its input, in a process of its own that can be killed."""

import json
import os
import sys


def main() -> None:
    """Do what a web process does with it."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()
    from django.utils import timezone

    from checkouts.page.transactions import parse_signed, send_signed
    from checkouts.page.views import find_checkout

    asked = json.load(sys.stdin)
    send_signed(find_checkout(asked.pop("code")), parse_signed(asked), now=timezone.now())


if __name__ == "__main__":
    main()
