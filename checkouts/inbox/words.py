"""The inbox's texts, in merchants' words."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from checkouts.states import InboxAct, InboxReason, InboxStatus, RescueVerdict


@dataclass(frozen=True, slots=True)
class Words:
    """A title for a list, and its explanation."""

    short: str
    meaning: str


SUM: Final = "The network tells only the sum that this transaction moved: it may be several payments."
"""Added to the explanation of such a transfer."""

REASONS: Final = MappingProxyType(
    {
        InboxReason.REVERSED: Words(
            "The network reversed a payment",
            "A checkout had completed with this money, and its network has removed the transfer since. The checkout stays"
            " completed. Hold the goods back if you still can. If the transfer returns, it counts again.",
        ),
        InboxReason.LATE: Words(
            "Arrived after its checkout had ended",
            "An expired or cancelled checkout never changes. You can accept the money: a new checkout with the same price"
            " and references takes it, and completes.",
        ),
        InboxReason.LATE_OUTAGE: Words(
            "Sent in time, but we saw it too late",
            "The buyer paid in time. We could not read the network then, so the checkout expired before we saw the payment.",
        ),
        InboxReason.EXTRA: Words(
            "Its checkout was already paid", "The buyer paid twice, or sent a second part that was not needed."
        ),
        InboxReason.WRONG_NETWORK: Words(
            "Wrong network or token for its checkout",
            "This checkout could not be paid with this token on this network.",
        ),
        InboxReason.WRONG_TOKEN: Words(
            "A token that you do not accept",
            "It is a genuine token of its issuer, and it is in your wallet or on its way there. No checkout accepts it on"
            " this network, so it is in no total. Accept it by hand or send it back.",
        ),
        InboxReason.DUST: Words(
            "Less than a cent", "Transfers this small are nearly always spam. They are recorded and never matched."
        ),
        InboxReason.UNMATCHED: Words(
            "No checkout asks for this amount", "No evidence says which checkout this money is for."
        ),
        InboxReason.AMBIGUOUS: Words("Several checkouts fit", "More than one checkout fits, so none was credited."),
        InboxReason.RIVAL: Words(
            "Credited while another checkout had just expired",
            "The only open checkout of this price was credited. If the other buyer paid, refund them or send them their"
            " order. To review such payments first, switch that on under Branding.",
        ),
    }
)
DECIDED: Final = MappingProxyType(
    {
        InboxAct.CREDIT: "Credit",
        InboxAct.ACCEPT_LATE: "Accept late",
        InboxAct.REFUNDED: "Mark as refunded",
        InboxAct.DISMISS: "Dismiss",
    }
)
DOING: Final = MappingProxyType(
    {
        InboxAct.CREDIT: "Being credited",
        InboxAct.ACCEPT_LATE: "Being accepted late",
        InboxAct.REFUNDED: "Being marked as refunded",
        InboxAct.DISMISS: "Being dismissed",
    }
)
OUTCOMES: Final = MappingProxyType(
    {
        InboxStatus.OPEN: "Open",
        InboxStatus.CREDITED: "Credited",
        InboxStatus.REFUNDED: "Refunded",
        InboxStatus.DISMISSED: "Dismissed",
    }
)
VERDICTS: Final = MappingProxyType(
    {
        RescueVerdict.CREDITED: "It pays this checkout.",
        RescueVerdict.NOT_FINAL: "It is on its way; the network is still confirming it.",
        RescueVerdict.WAITING: "It reached you, but nothing identifies its checkout.",
        RescueVerdict.SHORT: "It pays this checkout, but it is not enough.",
        RescueVerdict.LATE: "It arrived after the checkout expired.",
        RescueVerdict.EXTRA: "It arrived when the checkout was already paid.",
        RescueVerdict.WRONG_NETWORK: "It was sent on a network that the checkout does not offer.",
        RescueVerdict.WRONG_TOKEN: "The checkout does not accept this token.",
        RescueVerdict.FAKE_TOKEN: "It is an unknown token that bears a genuine one's name.",
        RescueVerdict.OTHER_ADDRESS: "It paid another address or its own sender, or is older than this checkout.",
        RescueVerdict.FAILED: "The transaction failed, and moved no money.",
        RescueVerdict.NOT_FOUND: "We cannot find it on any network.",
        RescueVerdict.UNREACHABLE: "We could not search every network.",
    }
)
