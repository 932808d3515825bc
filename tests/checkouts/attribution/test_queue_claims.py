"""A transfer that cannot be credited holds up no other."""

import pytest

from tests.checkouts.watcher import SOON, Watcher, assert_set_aside, attribute, credited
from tests.factories import make_checkout
from wallets.models import TransferClaim
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


def test_one_transfer_nobody_foresaw_holds_up_no_other():
    """The claim stands for any row that fails; the others of its batch are credited, and the next sweep goes on."""
    first, spoilt, last = make_checkout(), make_checkout(), make_checkout()
    watcher = Watcher()
    _, bad, _ = (watcher.sees(c) for c in (first, spoilt, last))
    TransferClaim.objects.create(transfer=bad, kind=ClaimKind.X402, claimed_at=SOON)
    attribute()
    assert [credited(c) for c in (first, spoilt, last)] == [1, 0, 1]
    assert_set_aside(bad)
    later = make_checkout()
    watcher.sees(later)
    attribute()
    assert credited(later) == 1
    TransferClaim.objects.filter(transfer=bad).delete()
    attribute()
    assert credited(spoilt) == 1
