"""Decides which requests reach an application: paid ones only; unclear ones are refused."""

import logging
from collections.abc import Sequence
from urllib.parse import quote

from florin_x402.admissions import Admission, Tickets
from florin_x402.answers import PRIVATE, Answer, Headers, Problem, payment_required, unavailable
from florin_x402.byhash import HashDesk
from florin_x402.bysignature import SignatureDesk
from florin_x402.catalogue import Catalogue, Option
from florin_x402.config import Config
from florin_x402.errors import FacilitatorError, RefusedError
from florin_x402.facilitator import Facilitator
from florin_x402.paths import LONGEST_PATH, is_text
from florin_x402.prices import Asked, Price, PriceList
from florin_x402.proofs import HashProof, proof_of

logger = logging.getLogger("florin_x402")

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
        self._signatures = SignatureDesk(self._facilitator, self._tickets, config.claims)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._facilitator.close()

    def url_of(self, path: str, *, origin: str) -> str:
        """Return a resource's URL for payers; `origin` is the request's own."""
        return f"{self._base_url or origin}{quote(path, errors='replace')}"

    def guards(self, asked: Asked) -> bool:
        """Whether a request costs something."""
        return self._prices.price_of(asked) is not None

    def enter(self, asked: Asked) -> Admission | Answer | None:
        """Decide about a request before its handler: None lets it pass unpaid, an Answer is sent as it is."""
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
            return self._judge(asked, price, self._catalogue.options_for(price))
        except FacilitatorError as error:
            return _away(error)

    def leave(self, admission: Admission, *, status: int) -> Headers | Answer:
        """Decide after the handler: headers to add to its answer, or an Answer to send in its place."""
        if status >= 400:
            self._tickets.keep_after_failure(admission)
        charge = admission.unsettled
        if status >= 400 or charge is None:
            return [*PRIVATE, *admission.receipt]
        asked, price = admission.asked, admission.price
        try:
            options = self._catalogue.options_for(price)
            try:
                settled = self._signatures.settle(admission, charge)
            except RefusedError as error:
                return _refused(asked, price, options, error)
        except FacilitatorError as error:
            return _away(error)
        return [*PRIVATE, *settled.receipt]

    def _judge(self, asked: Asked, price: Price, options: Sequence[Option]) -> Admission | Answer:
        try:
            proof = proof_of(asked)
            # A HEAD request only gets the price: it would use up a proof for nothing.
            if proof is None or asked.method == "HEAD":
                return payment_required(asked, price, options, UNPAID)
            if isinstance(proof, HashProof):
                return self._hashes.admit(asked, price, options, proof)
            return self._signatures.admit(asked, price, options, proof)
        except RefusedError as error:
            return _refused(asked, price, options, error)


def _unnamed(status: int) -> Answer:
    """Return the response to a path that nothing can be sold under."""
    return Answer(status, [*PRIVATE, ("Content-Type", "text/plain"), ("Content-Length", "0")])


def _refused(asked: Asked, price: Price, options: Sequence[Option], error: RefusedError) -> Answer:
    problem = Problem(error.reason, str(error), error.retry_after)
    return payment_required(asked, price, options, problem)


def _away(error: FacilitatorError) -> Answer:
    logger.warning("x402: nothing can be sold: %s", error)
    return unavailable(Problem("facilitator_unavailable", str(error), error.retry_after))
