"""What keeps a signed authorisation from being carried out."""

from x402.exact.errors import RefusedPaymentError


def test_a_refusal_says_its_code_where_it_has_no_other_words() -> None:
    assert str(RefusedPaymentError("invalid_network")) == "invalid_network"
    refusal = RefusedPaymentError("invalid_network", "Not here.", payer="0xa")
    assert (str(refusal), refusal.reason, refusal.payer) == ("Not here.", "invalid_network", "0xa")
