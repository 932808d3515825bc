"""`python -m django refund TOKEN [AMOUNT]`: asks for a refund of an order, and prints where its buyer claims it."""

from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from payments import PaymentError

from shop.models import Payment


class Command(BaseCommand):
    """Refunds an order."""

    help = "Ask for a refund of an order."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the order's token, and how much of it."""
        parser.add_argument("token")
        parser.add_argument("amount", nargs="?", type=Decimal)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Ask, and say where the buyer claims it."""
        payment = Payment.objects.get(token=options["token"])
        try:
            payment.refund(options["amount"])
        except (PaymentError, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(payment.attrs.refund_url)
