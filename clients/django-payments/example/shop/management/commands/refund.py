"""`python -m django refund TOKEN`: asks for a refund of an order, and prints where its buyer claims it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from payments import PaymentError

from shop.models import Payment


class Command(BaseCommand):
    """Refunds an order."""

    help = "Ask for a refund of an order."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the order's token."""
        parser.add_argument("token")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Ask, and say where the buyer claims it."""
        payment = Payment.objects.get(token=options["token"])
        try:
            payment.refund()
        except (PaymentError, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(payment.attrs.refund_url)
