"""Rows that a constraint refuses: a second row like the first, or a row that says what must not be true."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db import models

from accounts.audit.service import record
from accounts.models import AuditEntry, AuditSeal, IdempotencyKey, Invitation, Membership, Merchant
from accounts.states import Role
from checkouts.models import (
    Acceptance,
    AmountReservation,
    BuyerReport,
    InboxDecision,
    InboxItem,
    Quote,
    Terminal,
    TerminalSale,
)
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, RescueVerdict
from links.models import SubscriberMail
from links.states import MailKind
from notices.models import Choice, Device
from notices.states import How, Kind, Way
from payouts.lifecycle.service import conclude_payout
from payouts.models import Payout, PayoutApproval, PayoutRequest, PayoutSource
from payouts.states import PayoutStatus
from rates.models import Rate, RateTrouble
from rates.rule import RateRefusal
from settlements.models import (
    GasAccount,
    GasTransaction,
    Hold,
    RelayClaim,
    SettledOutflow,
    Settlement,
    SettlementItem,
    SponsoredTransaction,
)
from settlements.states import Purpose, SettlementStatus
from tests.accounts.fee_entries import charged
from tests.checkouts.schema import alter
from tests.checkouts.till.terminals import make_terminal, paired_device
from tests.factories import NOON, make_checkout, make_merchant, make_transfer, make_user, make_wallet
from tests.links.factories import make_subscriber
from tests.mails.factories import make_mail
from tests.notices.browsers import Browser
from tests.payouts.factories import approved, make_batch, make_paid, make_payout, outflow_for, refund_of
from tests.wallets.days import make_movement, make_watched
from tests.wallets.factories import make_deposit
from tests.webhooks.factories import make_deliveries, make_endpoint
from wallets.models import AccountCursor, ChainCursor, DepositOutflow, TransferReturn, WatchedMovement
from wallets.states import ClaimKind, TransferState
from webhooks.models import Delivery, EventCounter, SigningSecret
from x402.models import Authorization, KeptAnswer, Sighting, X402Payment

M = TypeVar("M", bound=models.Model)
BLOCK: Final = {"block_height": 20, "block_hash": "0x" + "ab" * 32, "block_time": NOON}
LIVE: Final = {"mode": "live"}
ANOTHER: Final = {"public_id": "chk", "code": "x", "deposit_nonce": b"x"}
OTHER: Final = {"tx_hash": "0x2", "public_id": "trf"}
USDC: Final = {"chain": "base", "token": "USDC"}


def _quote() -> Quote:
    return Quote.objects.create(
        checkout=make_checkout(),
        currency="EUR",
        price=Decimal(23),
        usd_amount=Decimal("25.03"),
        rate=Decimal("1.08826"),
        margin=Decimal(0),
        evidence=[],
        taken_at=NOON,
    )


def _rate() -> Rate:
    return Rate.objects.create(currency="EUR", source="kraken", rate=1, taken_at=NOON, fetched_at=NOON)


def _choice() -> Choice:
    return Choice.objects.create(
        user=make_user(), merchant=make_merchant(), mode="live", kind=Kind.INBOX, way=Way.MAIL, how=How.NEVER
    )


def _another_terminal() -> dict[str, str]:
    return {"public_id": "ter", "code": "another"}


def _paired_terminal() -> Terminal:
    device = paired_device()
    device.terminal.refresh_from_db()
    return device.terminal


def _following_terminal() -> Terminal:
    return make_terminal(follows="lnk_live_1")


def _terminal_sale() -> TerminalSale:
    return TerminalSale.objects.create(terminal=make_terminal(), checkout=make_checkout(), form="f", created_at=NOON)


def _device() -> Device:
    seat = _membership()
    return Browser().added(seat.user, seat.merchant)


def twin(row: M, **changes: Any) -> M:
    """Return an unsaved copy of a row, with other values where they are given."""
    fields = [field for field in row._meta.concrete_fields if not field.primary_key]
    values = {field.attname: getattr(row, field.attname) for field in fields}
    if not row._meta.auto_field:
        values[row._meta.pk.attname] = row.pk
    kept = {name: value for name, value in values.items() if not changes.keys() & {name, name.removesuffix("_id")}}
    return type(row)(**kept, **changes)


def _movement() -> WatchedMovement:
    return make_movement(make_watched(), 5)


def _sponsored() -> SponsoredTransaction:
    return SponsoredTransaction.objects.create(
        chain="solana",
        reference="chk:1",
        merchant=make_merchant(),
        fee_payer="ours",
        payer="payer",
        signed=b"",
        tx_hash="hash",
        fee=12_000,
        last_height=10,
    )


def _relay_claim() -> RelayClaim:
    return RelayClaim.objects.create(subject="chk_live_1", sponsored=_sponsored())


def _gas_account() -> GasAccount:
    return GasAccount.objects.create(chain="base", address="0xGas", next_nonce=7)


def gas_transaction() -> GasTransaction:
    """Make what a gas account means to do with its seventh number."""
    return GasTransaction.objects.create(
        account=_gas_account(),
        nonce=7,
        purpose=Purpose.SWEEP,
        reference="batch-1",
        to="0x",
        data=b"",
        gas_limit=90_000,
        most_wei=1,
    )


def _settlement(merchant: Merchant) -> Settlement:
    return Settlement.objects.create(merchant=merchant, purpose=ClaimKind.CHECKOUT, to="0x", units=5, **LIVE, **USDC)


def _other_settlement(row: Settlement) -> Settlement:
    return _settlement(row.merchant)


def _item() -> SettlementItem:
    deposit = make_deposit()
    return SettlementItem.objects.create(settlement=_settlement(deposit.merchant), deposit=deposit, units=5, **USDC)


def outflow() -> DepositOutflow:
    """Make what left a forwarder for good."""
    return DepositOutflow.objects.create(
        deposit=make_deposit(),
        tx_hash="0xf",
        position=0,
        units=5,
        recipient="0x",
        detected_at=NOON,
        state=TransferState.CONFIRMED,
        confirmed_at=NOON,
        **BLOCK,
        **USDC,
    )


def _settled_outflow() -> SettledOutflow:
    left = outflow()
    settlement = _settlement(left.deposit.merchant)
    return SettledOutflow.objects.create(outflow=left, settlement=settlement)


def _hold() -> Hold:
    return Hold.objects.create(merchant=make_merchant(), subject_id="chk", nonce=secrets.token_bytes(32), **LIVE)


def _reservation() -> AmountReservation:
    checkout = make_checkout()
    return AmountReservation.objects.create(
        checkout=checkout,
        merchant=checkout.merchant,
        price=Decimal("25.00"),
        suffix=100,
        reference=secrets.token_bytes(32),
        memo="one",
        reserved_at=NOON,
        **LIVE,
    )


def _unlike(_: Any) -> dict[str, Any]:
    """Return another reference and memo, which no two reservations share."""
    return {"reference": secrets.token_bytes(32), "memo": secrets.token_hex(4)}


def _payment() -> X402Payment:
    return X402Payment.objects.create(
        merchant=make_merchant(),
        protocol="hash",
        tx_hash="0x1",
        position=0,
        units=5,
        required_units=5,
        payer="0x2",
        pay_to="0x3",
        verified_at=NOON,
        **LIVE,
        **USDC,
    )


def _answer() -> KeptAnswer:
    return KeptAnswer.objects.create(merchant=make_merchant(), key="k", digest=b"d", answer={}, created_at=NOON, **LIVE)


def _authorization() -> Authorization:
    return Authorization.objects.create(
        merchant=make_merchant(),
        payer="0x2",
        nonce="0x4",
        pay_to="0x3",
        units=5,
        identifier=b"6",
        created_at=NOON,
        **LIVE,
        **USDC,
    )


def _sighting() -> Sighting:
    return Sighting.objects.create(merchant=make_merchant(), chain="base", tx_hash="0x1", seen_at=NOON)


def _delivery() -> Delivery:
    return make_deliveries(make_endpoint(make_merchant()))[0]


def _item_of_inbox() -> InboxItem:
    transfer = make_transfer(make_checkout())
    return InboxItem.objects.create(
        merchant_id=transfer.merchant_id,
        transfer=transfer,
        reason=InboxReason.EXTRA,
        explanation="paid twice",
        created_at=NOON,
        **LIVE,
    )


def _decision() -> InboxDecision:
    return InboxDecision.objects.create(item=_item_of_inbox(), act=InboxAct.DISMISS, decided_at=NOON, due_at=NOON)


def _acceptance() -> Acceptance:
    return Acceptance.objects.create(checkout=make_checkout(), amount=20, decided_at=NOON, due_at=NOON)


def _report() -> BuyerReport:
    checkout = make_checkout()
    return BuyerReport.objects.create(
        merchant=checkout.merchant,
        checkout=checkout,
        tx_hash="0x1",
        verdict=RescueVerdict.values[0],
        reported_at=NOON,
        looked_at=NOON,
        **LIVE,
    )


def _idempotency_key() -> IdempotencyKey:
    answered: dict[str, Any] = {"digest": b"d", "status": 201, "body": b"{}", "created_at": NOON}
    return IdempotencyKey.objects.create(merchant=make_merchant(), key="k", **answered, **LIVE)


def _membership() -> Membership:
    return Membership.objects.create(merchant=make_merchant(), user=make_user(), role=Role.OWNER)


def _invitation() -> Invitation:
    return Invitation.objects.create(
        merchant=make_merchant(), email="ada@example.test", role=Role.OWNER, digest=b"one", expires_at=NOON
    )


def _seal() -> AuditSeal:
    # Else the trigger seals the entries of this test, too.
    alter("ALTER TABLE accounts_auditentry DISABLE TRIGGER audit_sealed")
    record(make_merchant(), action="x", now=NOON)
    entry = AuditEntry.objects.get()
    return AuditSeal.objects.create(entry=entry, chain=7, number=1, digest=b"d")


def _subscriber_mail() -> SubscriberMail:
    return SubscriberMail.objects.create(subscription=make_subscriber(), kind=MailKind.DUE, period_end=NOON)


def _cursor() -> ChainCursor:
    return ChainCursor.objects.create(chain="base", height=10)


def _paid() -> Payout:
    payout = approved(make_payout())
    return conclude_payout(payout, outflow_for(payout), now=NOON)


def _open() -> Payout:
    return refund_of(make_paid()).payout


def _source() -> PayoutSource:
    return _open().sources.get()


def _return() -> TransferReturn:
    transfer = make_transfer(make_checkout())
    return TransferReturn.objects.create(transfer=transfer, units=transfer.units, reserved=5)


def _other_return(_: Any) -> dict[str, Any]:
    transfer = make_transfer(make_checkout())
    return {"transfer": transfer, "reserved": transfer.units + 1}


def _approval() -> PayoutApproval:
    return approved(make_payout()).approvals.get()


def _request() -> PayoutRequest:
    payout = make_payout()
    return PayoutRequest.objects.create(payout=payout, batch=make_batch(payout.merchant), raw=b"")


Maker = Callable[[], models.Model]
Changes = Callable[[Any], dict[str, Any]]


def _same(_: Any) -> dict[str, Any]:
    return {}


def _own_secret() -> SigningSecret:
    return SigningSecret.objects.create(endpoint=make_endpoint(make_merchant()), sealed=b"")


# Constraint to a row, and to what is different about the one that it refuses.
REFUSED: Final[dict[str, tuple[Maker, Changes]]] = {
    "transfer_units_positive": (lambda: make_transfer(make_checkout()), lambda _: OTHER | {"units": 0}),
    "transfer_has_one_place": (
        lambda: make_transfer(make_checkout()),
        lambda row: OTHER | {"wallet": make_wallet(row.merchant)},
    ),
    "checkout_amount_positive": (make_checkout, lambda _: ANOTHER | {"amount": 0}),
    "checkout_completed_has_paid_at": (make_checkout, lambda _: ANOTHER | {"status": CheckoutStatus.COMPLETED}),
    "checkout_accepted_is_completed": (make_checkout, lambda _: ANOTHER | {"accepted_amount": 20}),
    "checkout_price_is_not_usd": (make_checkout, lambda _: ANOTHER | {"currency": "EUR"}),
    "quote_is_possible": (_quote, lambda _: {"checkout": make_checkout(), "margin": Decimal("0.06")}),
    "merchant_rate_margin_in_range": (make_merchant, lambda _: {"public_id": "mer", "rate_margin": Decimal("0.06")}),
    "rate_once_per_source": (_rate, _same),
    "rate_positive": (_rate, lambda _: {"source": "another", "rate": 0}),
    "one_open_rate_trouble": (
        lambda: RateTrouble.objects.create(currency="EUR", reason=RateRefusal.SILENT, readings=[], began_at=NOON),
        _same,
    ),
    "checkout_cancelled_is_expired": (make_checkout, lambda _: ANOTHER | {"cancelled_at": NOON}),
    "one_reservation_per_price": (_reservation, lambda row: _unlike(row) | {"suffix": 200}),
    "suffix_below_one_cent": (_reservation, lambda row: _unlike(row) | {"suffix": 10_000, "price": 26}),
    "inbox_item_once_per_reason": (_item_of_inbox, _same),
    "inbox_credit_names_its_checkout": (_decision, lambda _: {"act": InboxAct.CREDIT, "item": _item_of_inbox()}),
    "checkout_has_one_standing_acceptance": (_acceptance, _same),
    "acceptance_amount_positive": (_acceptance, lambda _: {"amount": 0, "checkout": make_checkout()}),
    "acceptance_ends_once": (_acceptance, lambda _: {"done_at": NOON, "undone_at": NOON}),
    "buyer_report_once": (_report, _same),
    "terminal_revoked_has_no_device": (
        make_terminal,
        lambda _: _another_terminal() | {"digest": b"d", "revoked_at": NOON},
    ),
    "terminal_pairing_ends": (make_terminal, lambda _: _another_terminal() | {"pair_digest": b"p"}),
    "checkouts_terminal_digest_key": (_paired_terminal, lambda _: _another_terminal()),
    "terminal_follows_alone": (_following_terminal, lambda _: _another_terminal()),
    "terminal_sale_once_per_form": (_terminal_sale, lambda _: {"checkout": make_checkout()}),
    "terminal_sale_tip_not_negative": (_terminal_sale, lambda _: {"checkout": make_checkout(), "form": "x", "tip": -1}),
    "deposit_address_once_per_salt": (make_deposit, lambda _: {"key": b"another"}),
    "deposit_outflow_once": (outflow, _same),
    "deposit_outflow_units_positive": (outflow, lambda _: {"units": 0, "tx_hash": "0x2"}),
    "watched_wallet_once": (make_watched, lambda _: {"public_id": "wal"}),
    "watched_movement_once": (_movement, lambda _: {"public_id": "mov"}),
    "watched_movement_units_positive": (_movement, lambda _: OTHER | {"units": 0}),
    "one_receiving_wallet_per_chain": (lambda: make_wallet(make_merchant()), _same),
    "receiving_wallet_of_one_merchant": (
        lambda: make_wallet(make_merchant(), "ethereum"),
        lambda _: {"merchant": make_merchant()},
    ),
    "gas_account_once": (_gas_account, _same),
    "sponsored_once_per_reference": (_sponsored, lambda _: {"payer": "another"}),
    "sponsored_one_open_per_payer": (_sponsored, lambda _: {"reference": "chk:2"}),
    "relay_claim_of_one_transaction": (_relay_claim, lambda _: {"sponsored": None}),
    "relay_claim_in_one_ledger": (_relay_claim, lambda _: {"subject": "chk_live_2", "transaction": gas_transaction()}),
    "gas_nonce_used_once": (gas_transaction, lambda _: {"reference": "batch-2"}),
    "gas_transaction_once_per_reference": (gas_transaction, lambda _: {"nonce": 8}),
    "forwarder_in_one_open_settlement": (_item, lambda row: {"settlement": _other_settlement(row.settlement)}),
    "settlement_item_once": (_item, lambda _: {"ended_at": NOON}),
    "settlement_settled_has_time": (
        lambda: _settlement(make_merchant()),
        lambda _: {"status": SettlementStatus.SETTLED, "public_id": "stl"},
    ),
    "settlements_settledoutflow_pkey": (
        _settled_outflow,
        lambda row: {"settlement": _other_settlement(row.settlement)},
    ),
    "settlements_hold_subject_id_key": (_hold, lambda _: {"nonce": b"another"}),
    "hold_released_by_somebody": (_hold, lambda _: {"released_at": NOON, "subject_id": "chk2", "nonce": b"another"}),
    "x402_proof_used_once": (_payment, lambda _: {"public_id": "x4p"}),
    "x402_payment_is_enough": (_payment, lambda _: {"required_units": 6, "public_id": "x4p", "tx_hash": "0x2"}),
    "x402_answer_once": (_answer, _same),
    "x402_authorization_once": (_authorization, lambda _: {"merchant": make_merchant()}),
    "x402_authorization_within_signed": (
        _authorization,
        lambda _: {"nonce": "0x5", "most_units": 4, "identifier": None},
    ),
    "x402_identifier_of_one_payment": (_authorization, lambda _: {"nonce": "0x5"}),
    "x402_sighting_once": (_sighting, _same),
    "endpoint_id_once": (
        lambda: make_endpoint(make_merchant(), is_default=False, public_id="whe"),
        lambda _: {"url": "https://another.example/"},
    ),
    "one_current_secret_of_endpoint": (_own_secret, _same),
    "secret_has_one_owner": (_own_secret, lambda row: {"merchant": row.endpoint.merchant, "expires_at": NOON}),
    "event_sequence_once": (lambda: _delivery().event, lambda _: {"public_id": "evt", "occurrence": "another"}),
    "one_event_counter": (lambda: EventCounter.objects.create(merchant=make_merchant(), **LIVE), _same),
    "one_delivery_per_endpoint": (_delivery, lambda _: {"public_id": "whd"}),
    "mails_outgoingmail_key_key": (make_mail, _same),
    "notice_chosen_once": (_choice, lambda _: {"how": How.DAILY}),
    "notice_push_is_at_once": (_choice, lambda _: {"way": Way.PUSH, "how": How.DAILY}),
    "notice_device_once": (_device, lambda _: {"public_id": "ntd", "endpoint": make_endpoint(make_merchant())}),
    "subscriber_mail_once": (_subscriber_mail, _same),
    "idempotency_key_once": (_idempotency_key, _same),
    "membership_once": (_membership, lambda _: {"role": Role.VIEWER}),
    "invitation_open_once": (
        _invitation,
        lambda _: {"digest": b"two", "public_id": "inv", "email": "Ada@example.test"},
    ),
    "fee_signed_by_number": (lambda: charged(make_merchant()), lambda row: {"number": 1, "corrects": row}),
    "fee_correction_says_of_what": (
        lambda: charged(make_merchant()),
        lambda row: {"subject_id": "another", "corrects": row},
    ),
    "transfer_return_within_units": (_return, _other_return),
    "payout_of_one_movement": (_paid, lambda _: {"public_id": "po"}),
    "payout_paid_by_the_chain": (_paid, lambda _: {"public_id": "po", "movement": None}),
    "payout_paid_has_time": (make_payout, lambda _: {"public_id": "po", "paid_at": NOON}),
    "payout_has_an_address": (make_payout, lambda _: {"public_id": "po", "address": ""}),
    "payout_proved_where_required": (
        make_payout,
        lambda _: {"public_id": "po", "requires_proof": True, "proved_at": None},
    ),
    "payout_inspected_where_said": (make_payout, lambda _: {"public_id": "po", "contract_on": "base"}),
    "payout_approved_without_objection": (
        make_payout,
        lambda _: {
            "public_id": "po",
            "status": PayoutStatus.APPROVED,
            "inspected_at": NOON,
            "objection": "It is lost.",
        },
    ),
    "payout_units_positive": (make_payout, lambda _: {"public_id": "po", "units": 0}),
    "payout_once_per_reference": (lambda: make_payout(reference="rma-17"), lambda _: {"public_id": "po"}),
    "payout_of_one_claim": (_open, lambda _: {"public_id": "po", "status": PayoutStatus.CANCELLED}),
    "payout_source_once": (_source, _same),
    "payout_source_units_positive": (_source, lambda _: {"payout": _open(), "units": 0}),
    "payout_approved_once": (_approval, _same),
    "payout_request_once_per_batch": (_request, _same),
    "audit_seal_once": (_seal, lambda _: {"entry": record(make_merchant(), action="y", now=NOON)}),
    "one_cursor_per_account": (lambda: AccountCursor.objects.create(chain="solana", key=b"k", address="a"), _same),
    "wallets_chaincursor_pkey": (_cursor, lambda _: {"lease_until": NOON + timedelta(days=1)}),
}
