"""The provider: sends buyers to Florin's page, and takes what became of a payment from Florin alone."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.db.transaction import atomic
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from payments import PaymentError, PaymentStatus, RedirectNeeded
from payments.core import BasicProvider

from florin import Florin, FlorinError, OtherModeError, SignatureError, webhooks
from florin.types import EventBody
from florin_django_payments.states import ENDED, UNPAID, bring_to, is_on_its_way


class FlorinProvider(BasicProvider):
    """Sells through the Florin at `url` with an API `key`. Each webhook is signed by one of the `secrets`.

    A payment's token is the `order_ref` of its checkout: however often a buyer comes back to pay, there is one checkout. `checkout` has
    further fields of each one, such as `expires_in`. A request takes at most `timeout` seconds. Raises ValueError for a url or a key that
    the client refuses, and ImproperlyConfigured without `capture`: no chain reserves money for later.
    """

    def __init__(
        self,
        url: str,
        key: str,
        secrets: str | Sequence[str],
        *,
        checkout: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        capture: bool = True,
    ) -> None:
        if not capture:
            raise ImproperlyConfigured("Florin captures at once: capture must be True.")
        super().__init__(capture=capture)
        self._florin = Florin(url, key, timeout=timeout)
        # For reading while the payment's row is locked, or a buyer waits. A webhook that gets no answer is sent again.
        self._reader = Florin(url, key, timeout=timeout, retries=0)
        self._secrets = secrets
        self._fields = dict(checkout or {})

    def get_form(self, payment: Any, data: Any = None) -> NoReturn:
        """Send the buyer to the payment's checkout, or to the shop if it is paid. Raises RedirectNeeded, and PaymentError without a checkout."""
        del data
        if payment.status == PaymentStatus.CONFIRMED:
            raise RedirectNeeded(payment.get_success_url())
        if not payment.token:
            payment.save()
        here = self.get_return_url(payment)
        try:
            made = self._florin.checkouts.create(
                amount=_amount(payment.total),
                currency=payment.currency,
                order_ref=payment.token,
                description=payment.description or None,
                redirect_url=here,
                webhook_url=here,
                **self._fields,
            )
        except FlorinError as error:
            raise PaymentError(str(error)) from error
        # A webhook may have decided it meanwhile, and by another checkout: late money that is accepted has one of its own.
        waiting = type(payment)._default_manager.filter(pk=payment.pk, status__in=UNPAID)  # noqa: SLF001 - documented
        if waiting.update(transaction_id=made["id"]):
            payment.transaction_id = made["id"]
        raise RedirectNeeded(made["checkout_url"])

    def get_token_from_request(self, payment: Any, request: HttpRequest) -> str:
        """Return the token of the payment that a webhook is about. Raises PaymentError with the status to answer."""
        del payment
        references = self._event(request)["data"].get("references")
        token = references.get("order_ref") if isinstance(references, dict) else None
        if not isinstance(token, str) or not token:
            # An endpoint may be sent events of other things, which will not become a payment's by sending them again.
            raise PaymentError("The event is about no payment of this shop.", code=200)
        return token

    def process_data(self, payment: Any, request: HttpRequest) -> HttpResponse:
        """Take a webhook, or a buyer who comes back: bring the payment to what its checkout says."""
        if request.method == "POST":
            return self._told(payment, request)
        checkout: Mapping[str, Any] | None = None
        # Anybody who has the address may open it: nothing is asked once the payment is decided, and no row is locked while it waits.
        if payment.transaction_id and payment.status in UNPAID:
            try:
                checkout = self._reader.checkouts.get(payment.transaction_id)
                if checkout["status"] in ENDED:
                    payment, checkout = self._followed(payment, payment.transaction_id)
            except (FlorinError, PaymentError):
                # The buyer is not to blame, and the webhook will say it.
                payment.refresh_from_db()
        is_fine = is_on_its_way(payment, checkout)
        return HttpResponseRedirect(payment.get_success_url() if is_fine else payment.get_failure_url())

    def refund(self, payment: Any, amount: Decimal | None = None) -> Decimal:
        """Ask for a refund of an amount in the payment's currency, of all that is left without one; return the amount.

        The money is reserved at once. It is sent when your people approve it and your wallet pays. `payment.attrs.refund_url` is where the
        buyer says to which address. A call that is repeated after its outcome was lost asks for the same refund, another amount for another
        one. Raises PaymentError.
        """
        left = Decimal(payment.captured_amount)
        source: Any = {"checkout": payment.transaction_id}
        wanted: dict[str, Any] = {} if amount is None else {"amount": _amount(amount), "currency": payment.currency}
        # What is left changes with each refund: with the amount it names this one.
        reference = f"{payment.token}-{left:.2f}-{wanted.get('amount', 'all')}"
        try:
            made = self._florin.refunds.create(source=source, reference=reference, **wanted)
        except FlorinError as error:
            raise PaymentError(str(error)) from error
        if made["status"] in {"cancelled", "expired"}:
            # Asked for before under this name, and ended: the network may have taken the payment back meanwhile.
            raise PaymentError(f"The refund {made['id']} has ended. Ask for another one in Florin's dashboard.")
        if made["claim_url"]:
            payment.attrs.refund_url = made["claim_url"]
        return left if amount is None else Decimal(amount)

    def cancel(self, payment: Any) -> None:
        """End an unpaid checkout. Raises PaymentError once money was seen."""
        if not payment.transaction_id:
            return
        try:
            self._florin.checkouts.cancel(payment.transaction_id)
        except FlorinError as error:
            raise PaymentError(str(error)) from error

    def _told(self, payment: Any, request: HttpRequest) -> HttpResponse:
        try:
            # Late money that is accepted completes another checkout than the one that was made.
            self._followed(payment, self._event(request)["checkout_id"])
        except PaymentError as error:
            return HttpResponse(str(error), status=error.code, content_type="text/plain")
        except FlorinError:
            return HttpResponse("Florin did not answer.", status=503, content_type="text/plain")
        return HttpResponse(status=204)

    def _event(self, request: HttpRequest) -> EventBody:
        """Return the event of a genuine webhook. Raises PaymentError with the status to answer."""
        try:
            return webhooks.construct(request.body, request.headers, self._secrets, livemode=self._florin.livemode)
        except OtherModeError as error:
            raise PaymentError(str(error), code=200) from error
        except SignatureError as error:
            raise PaymentError(str(error), code=400) from error

    def _followed(self, payment: Any, checkout_id: str) -> tuple[Any, Mapping[str, Any]]:
        """Bring a payment to what a checkout says now; return both. Raises FlorinError, and PaymentError for another's checkout."""
        with atomic():
            # Locked before Florin is asked: of a webhook and a buyer who come at once, the second must not write what was read first.
            held = type(payment)._default_manager.select_for_update().get(pk=payment.pk)  # noqa: SLF001 - documented
            checkout = self._reader.checkouts.get(checkout_id)
            bring_to(held, checkout)
        return held, checkout


def _amount(value: Any) -> str:
    """Return an amount as the API takes it: without a fraction where there is none, because some currencies have none."""
    amount = Decimal(str(value))
    return f"{amount:.0f}" if amount == amount.to_integral_value() else f"{amount:.2f}"
