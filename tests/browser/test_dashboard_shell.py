"""The dashboard's shell in a browser: the sidebar, the switches, dialogs, and what every page looks like."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from accounts.states import Role
from tests.browser.conftest import PHONE
from tests.browser.dashboard import look
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_merchant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def desk() -> Desk:
    """An owner whose team has a viewer."""
    desk = make_desk()
    make_desk(desk.merchant, Role.VIEWER)
    return desk


def test_the_sidebar_opens_on_a_phone_and_leads_on(desk: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(desk, "dashboard_team", viewport=PHONE)
    navigation = page.get_by_role("navigation", name="Main")
    expect(navigation).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(navigation.get_by_role("link", name="Inbox")).to_be_visible()
    expect(navigation.get_by_role("link", name="Webhooks")).to_be_hidden()
    navigation.get_by_text("Developers").click()
    navigation.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")


@pytest.mark.parametrize(("width", "height"), [(900, 800), (1280, 600)])
def test_the_sidebar_is_whole_where_the_window_is_small(
    desk: Desk, open_desk: Callable[..., Page], width: int, height: int
) -> None:
    size = {"width": width, "height": height}
    page = open_desk(desk, "dashboard_team", viewport=size)
    sidebar = page.locator("#sidebar")
    assert sidebar.evaluate("bar => bar.scrollWidth <= bar.clientWidth")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Team").hover()
    person = sidebar.locator(".switcher--person summary").bounding_box()
    assert person is not None
    assert person["y"] + person["height"] <= height


def test_a_button_that_brings_a_file_can_be_pressed_again(desk: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(desk, "dashboard_data_export")
    button = page.get_by_role("button", name="Download everything")
    for _ in range(2):
        with page.expect_download():
            button.click()
        expect(button).to_be_enabled()


def test_the_mode_switch_keeps_the_page(desk: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(desk, "dashboard_team")
    page.get_by_role("navigation", name="Mode").get_by_role("link", name="Test").click()
    expect(page.get_by_text("Nothing here is real money")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Team")


def test_the_menus_open_lead_on_and_close(desk: Desk, open_desk: Callable[..., Page]) -> None:
    second = make_merchant("A Second Shop")
    second.memberships.create(user=desk.user, role=Role.VIEWER)
    page = open_desk(desk, "dashboard_team")
    page.get_by_text("Starter plan").click()
    assert look(page, "dashboard-switcher") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="New merchant")).to_be_hidden()
    page.get_by_text("Starter plan").click()
    page.get_by_role("link", name="A Second Shop").click()
    expect(page).to_have_title("Team · A Second Shop")
    page.locator(".switcher--person summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


def test_removing_somebody_asks_first(desk: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(desk, "dashboard_team")
    page.get_by_role("button", name="Remove").click()
    dialog = page.get_by_role("dialog", name="Remove from the team?")
    dialog.get_by_role("button", name="Not now").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Remove").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("status")).to_contain_text("no longer in the team")


@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER])
def test_pages_and_refusals_are_accessible_and_fit_the_screen(
    role: Role, desk: Desk, open_desk: Callable[..., Page], complaints: list[str]
) -> None:
    name = "dashboard_team" if role == Role.OWNER else "dashboard_new_checkout"
    page = open_desk(make_desk(desk.merchant, role), name, device_scale_factor=2)
    assert look(page, f"{name}-{role}") == []
    # What the viewer reads is a refusal.
    complaints[:] = [one for one in complaints if "403" not in one]
