"""Another merchant's links and templates, and those of the other mode, are not found."""

import pytest

from accounts.states import Mode, Role
from links.models import LinkTemplate, PaymentLink
from links.states import LinkStatus, LinkType
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON
from tests.links.dashboard.filled import MORE, make
from tests.links.factories import make_link

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("mode", Mode)
def test_another_merchants_or_the_other_modes_link_is_not_found(mode: Mode, owner_in_test_mode: Desk) -> None:
    other_mode = Mode.LIVE if mode == Mode.TEST else Mode.TEST
    here = make_desk(owner_in_test_mode.merchant, Role.OWNER, mode)
    for link in (make_link(mode=mode), make_link(here.merchant, mode=other_mode)):
        named = {"link_id": link.public_id}
        assert here.get("dashboard_link", **named).status_code == 404
        assert here.get("dashboard_edit_link", **named).status_code == 404
        assert here.post("dashboard_edit_link", MORE, **named).status_code == 404
        paused = here.post("dashboard_link_status", status="paused", **named)
        assert paused.status_code == 404
        code = here.get("dashboard_link_qr", format_name="png", **named)
        assert code.status_code == 404
        link.refresh_from_db()
        assert (link.status, link.updated_at) == (LinkStatus.ACTIVE, NOON)


def test_another_merchants_template_is_not_found(owner_in_test_mode: Desk) -> None:
    make(owner_in_test_mode, LinkType.CUSTOM, save_as_template="on")
    template_id = LinkTemplate.objects.get().public_id
    other = make_desk(mode=Mode.TEST)
    query = f"?template={template_id}"
    assert other.get("dashboard_new_link_of", query, kind="custom").status_code == 404
    gone = other.post("dashboard_delete_link_template", template_id=template_id)
    assert gone.status_code == 404
    make(other, LinkType.CUSTOM, template=template_id)
    assert PaymentLink.objects.get(merchant=other.merchant).template is None
