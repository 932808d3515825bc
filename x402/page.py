"""What became of the payment of a machine's receipt, for anybody who has the receipt.

The receipt's payload is that of the standard's extension, without an id and without an address. So its bearer asks by what is in it: the network,
the transaction, and the digest of the payload. A digest can be named only by who has the receipt, or guesses all of its fields.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from django.http import HttpRequest, JsonResponse
from django.urls import re_path
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.states import Mode
from gateway.core.api.errors import GatewayError, NotFoundError
from gateway.core.api.rate_limits import Limit
from gateway.core.times import iso
from gateway.core.web.pages import count_visit, uncached
from settlements.models import GasAttempt
from wallets.models import ChainCursor, Transfer
from wallets.networks import known_chains
from wallets.states import ClaimKind
from wallets.transfers.doubts import doubted_of
from wallets.transfers.returns import returns_of
from x402.exact.kinds import network_of
from x402.exact.statements import is_receipt_of
from x402.models import Authorization, X402Payment
from x402.states import PaymentStatus

STATUS: Final = Limit("x402.receipt", 60)

# One transaction may carry out several payments.
_MOST: Final = 50


def receipt_status(network: str, transaction: str, digest: str, *, now: datetime) -> dict[str, Any]:
    """Return what became of a receipt's payment, and the transaction that makes it now. Raises NotFoundError.

    `network` is in CAIP-2. `digest` is SHA-256 of the second part of the receipt's JWS, as it is written there, in hexadecimal.
    """
    for row in _carried_out_by(network, transaction):
        if row.payment is not None and is_receipt_of(row, network, transaction, digest):
            return {"status": _status(row.payment), "as_of": iso(now), "transaction": row.payment.tx_hash}
    raise NotFoundError("This installation knows no such receipt.", param="digest")


def _carried_out_by(network: str, transaction: str) -> Iterator[Authorization]:
    """Yield the authorisations with a receipt that a transaction carries out, or carried out before a reorg."""
    served = Authorization.objects.select_related("payment").exclude(receipt_for="")
    yield from served.filter(tx_hash=transaction)[:_MOST]
    sent = GasAttempt.objects.filter(tx_hash=transaction).values_list("transaction", flat=True)
    yield from served.filter(transaction__in=list(sent))[:_MOST]
    # Of another's transaction, which a reorg replaced by one more of theirs, only the watcher's record is left.
    names = [name for name, spec in known_chains().items() if network_of(spec, 2) == network]
    seen = Transfer.objects.filter(chain__in=names, tx_hash=transaction, purpose=ClaimKind.X402, mode=Mode.LIVE)
    for transfer in seen[:_MOST]:
        # Newest first: a payer may have paid as much many times.
        paid = served.filter(mode=Mode.LIVE, chain=transfer.chain, token=transfer.token, payer=transfer.sender)
        yield from paid.filter(merchant=transfer.merchant_id, units=transfer.units).order_by("-pk")[:_MOST]


def _status(payment: X402Payment) -> str:
    if payment.status == PaymentStatus.REVERSED:
        return "reversed"
    if payment.transfer_id is None:
        return "in_doubt" if _is_unsure(payment) else "paid"
    if doubted_of([payment.transfer_id]):
        return "in_doubt"
    found = returns_of([payment.transfer_id]).get(payment.transfer_id)
    if found is None or not found.returned:
        return "paid"
    return "refunded" if found.returned >= payment.units else "partly_refunded"


def _is_unsure(payment: X402Payment) -> bool:
    """Whether a payment that no watcher recorded may be lost, because its network contradicted itself and was stopped."""
    cursor = ChainCursor.objects.filter(chain=payment.chain).exclude(halted_reason="").first()
    if cursor is None or payment.mode != Mode.LIVE:
        return False
    above = cursor.doubted_above
    return above is None or payment.block_height is None or payment.block_height > above


@require_safe
def status_of_receipt(request: HttpRequest, network: str, transaction: str, digest: str) -> JsonResponse:
    """Answer what became of a receipt's payment, or the API's error."""
    try:
        count_visit(request, STATUS, "")
        answer = JsonResponse(receipt_status(network, transaction, digest, now=timezone.now()))
        headers: dict[str, str] = {}
    except GatewayError as error:
        answer, headers = JsonResponse(error.body(), status=error.status), dict(error.headers())
    answer["Access-Control-Allow-Origin"] = "*"
    uncached(answer, headers)
    return answer


_NETWORK: Final = r"(?P<network>[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})"
_TRANSACTION: Final = r"(?P<transaction>[0-9A-Za-z]{1,100})"

urlpatterns = [
    re_path(
        rf"^receipts/{_NETWORK}/{_TRANSACTION}/(?P<digest>[0-9a-f]{{64}})$",
        status_of_receipt,
        name="x402-receipt-status",
    )
]
