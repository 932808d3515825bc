"""Machines' payments as the API, events and files show them."""

from collections.abc import Iterator
from typing import Final

from django.db.models import QuerySet
from rest_framework import serializers as s

from gateway.core.api.openapi import paginated
from gateway.core.api.pagination import chunks_by_key
from gateway.core.api.serializers import Answer, LiveMode, Moment, Units
from gateway.core.money import from_units
from gateway.core.times import iso, iso_or_none
from x402 import models
from x402.states import PaymentStatus, Protocol

CSV_HEADER: Final = """
    id verified_at status protocol network token amount required_amount resource payer pay_to signed tx_hash
    settled_at reversed_at
""".split()


class X402Payment(Answer):
    """What a machine paid."""

    id = s.CharField(source="public_id")
    livemode = LiveMode()
    protocol = s.ChoiceField(Protocol.choices)
    chain = s.CharField()
    token = s.CharField()
    amount = Units(source="units")
    required_amount = Units(source="required_units")
    txHash = s.CharField(source="tx_hash")
    position = s.IntegerField()
    payerAddress = s.CharField(source="payer")
    payTo = s.CharField(source="pay_to")
    signed = s.BooleanField(source="is_signed")
    resource = s.CharField()
    status = s.ChoiceField(PaymentStatus.choices)
    verified_at = Moment()
    final_at = Moment(allow_null=True)
    settled_at = Moment(allow_null=True)
    reversed_at = Moment(allow_null=True)


X402PaymentList = paginated("X402PaymentList", X402Payment)


def csv_rows(payments: QuerySet[models.X402Payment]) -> Iterator[list[object]]:
    """Yield the cells of a file, newest first, read in chunks."""
    for chunk in chunks_by_key(payments):
        yield from map(_cells, chunk)


def _cells(payment: models.X402Payment) -> list[object]:
    return [
        payment.public_id,
        iso(payment.verified_at),
        payment.status,
        payment.protocol,
        payment.chain,
        payment.token,
        from_units(int(payment.units)),
        from_units(int(payment.required_units)),
        payment.resource,
        payment.payer,
        payment.pay_to,
        "yes" if payment.is_signed else "no",
        payment.tx_hash,
        iso_or_none(payment.settled_at),
        iso_or_none(payment.reversed_at),
    ]
