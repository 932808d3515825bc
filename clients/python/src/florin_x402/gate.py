"""Decides which requests reach an application: paid ones only; unclear ones are refused."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

from florin_x402.admissions import Admission, Tickets
from florin_x402.answers import PRIVATE, Answer, Headers, Problem, payment_required, requirements, unavailable
from florin_x402.byhash import HashDesk
from florin_x402.bysignature import SignatureDesk
from florin_x402.catalogue import Catalogue, Option
from florin_x402.config import Config
from florin_x402.errors import FacilitatorError, RefusedError, UnclearError
from florin_x402.facilitator import Facilitator
from florin_x402.identifiers import Identifiers, Keeper, Named
from florin_x402.mpp.desk import MppDesk, receipt
from florin_x402.mpp.problems import described
from florin_x402.offers import Offers
from florin_x402.paths import LONGEST_PATH, is_text
from florin_x402.prices import Asked, Price, PriceList
from florin_x402.proofs import HashProof, proof_of

logger = logging.getLogger("florin_x402")

IsGone = Callable[[], bool]
_UNSERVED = 500
UNPAID = Problem("payment_required", "Payment is required.")


class Gate:
    """Decides about requests by asking the facilitator. Thread-safe.

    The servers' styles of asking it are in `django`, `asgi` and `wsgi`.
    """

    def __init__(self, config: Config) -> None:
        self._base_url = config.base_url.rstrip("/")
        self._prices = PriceList(config.prices)
        self._facilitator = Facilitator(config)
        self._catalogue = Catalogue(config, self._facilitator)
        self._tickets = Tickets(config.claims)
        self._hashes = HashDesk(self._facilitator, self._tickets)
        self._signatures = SignatureDesk(
            self._facilitator, self._tickets, config.claims, wants_receipts=config.receipts
        )
        self._offers = Offers(self._facilitator, is_on=config.receipts)
        self._identifiers = Identifiers(config.answers, config.identifiers)
        self._mpp = MppDesk(config, self._hashes, self._signatures)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._facilitator.close()

    def url_of(self, path: str, *, origin: str) -> str:
        """Return a resource's URL for payers; `origin` is the request's own."""
        return f"{self._base_url or origin}{quote(path, errors='replace')}"

    def guards(self, asked: Asked) -> bool:
        """Whether a request costs something."""
        return self._prices.price_of(asked) is not None

    def enter(self, asked: Asked, *, is_gone: IsGone = lambda: False) -> Admission | Answer | None:
        """Decide about a request before its handler: None lets it pass unpaid, an Answer is sent as it is.

        `is_gone` says whether the request was given up meanwhile: its handler does not run then, and its payer may show the same proof again.
        """
        if any(len(path) > LONGEST_PATH for path in asked.paths):
            return _unnamed(414)
        price = self._prices.price_of(asked)
        if price is None:
            return None
        if not all(map(is_text, asked.paths)):
            # The facilitator takes no such resource, and says so only once its payer has paid.
            return _unnamed(400)
        if asked.method == "OPTIONS":
            # A handler that ignores the method would serve paid content for free.
            return Answer(204, [*PRIVATE])
        try:
            found = self._judge(asked, price, self._catalogue.options_for(price))
        except FacilitatorError as error:
            return self._away(asked, error)
        if isinstance(found, Admission) and is_gone():
            self.leave(found, status=_UNSERVED)
        return found

    def leave(self, admission: Admission, *, status: int, is_gone: IsGone = lambda: False) -> Headers | Answer:
        """Decide after the handler: headers to add to its answer, or an Answer to send in its place.

        `is_gone` says whether the request was given up meanwhile: its payer may show the same proof again.
        """
        if status >= 400:
            self._tickets.keep_after_failure(admission)
            if not admission.payment.settled:
                self._identifiers.free(admission.named)
        charge = admission.unsettled
        if status >= 400 or charge is None:
            return _receipts(admission, status)
        asked, price = admission.asked, admission.price
        try:
            options = self._catalogue.options_for(price)
            try:
                settled = self._signatures.settle(admission, charge)
            except RefusedError as error:
                return self._refused(asked, price, options, error, admission.named)
        except FacilitatorError as error:
            return self._away(asked, error)
        if is_gone():
            self._tickets.keep_after_failure(settled)
        return _receipts(settled, status)

    def keeper(self, admission: Admission, *, status: int, headers: Headers) -> Keeper | None:
        """Return what collects the answer that is sent, if its payer may ask for it again; `headers` are the whole answer's."""
        if admission.named is None or status >= 400:
            return None
        return self._identifiers.keeper(admission.named, status=status, headers=headers)

    def _judge(self, asked: Asked, price: Price, options: Sequence[Option]) -> Admission | Answer:
        named: Named | None = None
        try:
            # A HEAD request only gets the price: it would use up a proof for nothing.
            if asked.method == "HEAD":
                return self._required(asked, price, options, UNPAID)
            if self._mpp.is_shown(asked):
                return self._mpp.admit(asked, price, options)
            proof = proof_of(asked)
            if proof is None:
                return self._required(asked, price, options, UNPAID)
            if isinstance(proof, HashProof):
                return self._hashes.admit(asked, price, options, proof)
            told = self._identifiers.named(proof, asked)
            if isinstance(told, Answer):
                return told
            named = told
            return replace(self._signatures.admit(asked, price, options, proof), named=named)
        except RefusedError as error:
            return self._refused(asked, price, options, error, named)
        except FacilitatorError as error:
            if not isinstance(error, UnclearError):
                self._identifiers.free(named)
            raise

    def _refused(
        self, asked: Asked, price: Price, options: Sequence[Option], error: RefusedError, named: Named | None
    ) -> Answer:
        # The request that was served for this payment may have ended only now.
        if named and (kept := self._identifiers.answer_to(named)):
            return kept
        self._identifiers.free(named)
        if final := self._mpp.refusal(asked, error):
            return final
        problem = Problem(error.reason, str(error), error.retry_after)
        return self._required(asked, price, options, problem)

    def _required(self, asked: Asked, price: Price, options: Sequence[Option], problem: Problem) -> Answer:
        listing = price.listing
        listed = listing.declaration() if listing and listing.is_of(asked.method) else {}
        signed = self._offers.extension_for(asked.url, requirements(asked, price, options, 2))
        extensions = {**self._identifiers.declaration(), **listed, **signed}
        asks = self._mpp.asks(asked, price, options)
        told = described(problem, 402) if asks or self._mpp.is_shown(asked) else problem
        return payment_required(asked, price, options, told, extensions, asks)

    def _away(self, asked: Asked, error: FacilitatorError) -> Answer:
        logger.warning("x402: nothing can be sold: %s", error)
        problem = Problem("facilitator_unavailable", str(error), error.retry_after)
        return unavailable(described(problem, 503) if self._mpp.is_shown(asked) else problem)


def _receipts(admission: Admission, status: int) -> Headers:
    """Return the headers to add to an answer that was paid for. A receipt of MPP says that its payer was served."""
    is_served = 200 <= status < 300
    served = (
        receipt(admission.challenge, admission.payment, now=datetime.now(UTC))
        if admission.challenge and is_served
        else []
    )
    return [*PRIVATE, *admission.receipt, *served]


def _unnamed(status: int) -> Answer:
    """Return the response to a path that nothing can be sold under."""
    return Answer(status, [*PRIVATE, ("Content-Type", "text/plain"), ("Content-Length", "0")])
