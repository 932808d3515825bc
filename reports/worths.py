"""What euros were worth in the checkouts that they paid, and what refunds gave back of that: by their dues (`checkouts.pricing`).

Euros that paid no checkout have no worth here: no rate of today is put on money of last month (decision 35).
"""

from collections import defaultdict
from collections.abc import Collection

from checkouts.models import Payment
from checkouts.pricing import dues_of, value_of
from payouts.models import Payout, PayoutSource


def transfer_worths(keys: Collection[int]) -> dict[int, int]:
    """Return what transfers of euros were worth in the checkouts that they paid, in millionths of a USD, by the transfers' keys.

    Each is what it added to those credited before it, so that they add up to the worth of their sum, to the millionth. A later one
    changes none. Transfers of other tokens, and those that paid no checkout, are left out.
    """
    if not keys:
        return {}
    checkouts = Payment.objects.filter(transfer__in=keys, checkout__dues__isnull=False).values("checkout")
    came: defaultdict[tuple[int, str], int] = defaultdict(int)
    found = {}
    for one in Payment.objects.filter(checkout__in=checkouts).select_related("checkout", "transfer").order_by("pk"):
        token = one.transfer.token
        if token in dues_of(one.checkout):
            before = came[one.checkout_id, token]
            after = came[one.checkout_id, token] = before + one.transfer.priced_units
            found[one.transfer_id] = value_of(one.checkout, [(token, after)]) - value_of(
                one.checkout, [(token, before)]
            )
    return {key: found[key] for key in keys if key in found}


def refund_worths(payouts: Collection[str]) -> dict[str, int]:
    """Return what refunds of such transfers gave back of their worth, in millionths of a USD, by the refunds' public ids.

    A refund has its share of what a transfer was worth: once all of the transfer went back, so did all of its worth. Refunds of other
    money are left out.
    """
    returned = PayoutSource.objects.filter(payout__public_id__in=payouts).values_list("transfer", flat=True)
    worths = transfer_worths(set(returned)) if payouts else {}
    if not worths:
        return {}
    sent = Payout.objects.filter(sources__transfer__in=list(worths), movement__isnull=False).values("pk")
    sources = PayoutSource.objects.filter(payout__in=sent).select_related("payout__movement", "transfer").order_by("pk")
    left: dict[int, int] = {}
    gone: defaultdict[int, int] = defaultdict(int)
    found: defaultdict[str, int] = defaultdict(int)
    for one in sources:
        payout = one.payout
        # A person may accept another amount than was asked for: the first sources give all they have (`parts_of`).
        rest = left.get(payout.pk, int(payout.movement.units) if payout.movement else 0)
        part = min(int(one.units), rest)
        left[payout.pk] = rest - part
        if (worth := worths.get(one.transfer_id)) is not None:
            units, before = int(one.transfer.units), gone[one.transfer_id]
            after = gone[one.transfer_id] = before + part
            found[payout.public_id] += after * worth // units - before * worth // units
    return {name: found[name] for name in payouts if name in found}
