"""No spelling of a path gets around its price."""

import pytest

from florin_x402 import Asked, Config, Price, SettingsError
from florin_x402.prices import PriceList
from shops import STYLES, OpenShop
from standin import StandIn

SPELLINGS = (
    "/report",
    "/report/",
    "//report",
    "/report//",
    "/./report",
    "/x/../report",
    "/%72eport",
    "/%2572eport",
    "/REPORT",
    "/report;v=1",
    "/\\report",
    "/ｒeport",
    "/report%2F",
    "/reporT/.",
)


@pytest.mark.parametrize("style", STYLES)
def test_every_spelling_of_a_protected_path_costs_the_same(open_shop: OpenShop, style: str) -> None:
    shop = open_shop(style)
    found = {path: shop.get(path).status for path in SPELLINGS}
    assert found == dict.fromkeys(SPELLINGS, 402)
    assert shop.served == []


def price(path: str, *, method: str = "GET") -> str | None:
    prices = PriceList(
        {
            "/api/health": None,
            "/api/**": "0.01",
            "/files/*/raw": "0.02",
            "/shelf/cheap": "0.04",
            "/shelf/**": "5",
            "/by-rule": lambda asked: "0.03" if asked.method == "POST" else None,
        }
    )
    found = prices.price_of(Asked(method, (path,), "https://shop.example"))
    return found.text if found else None


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/api", "0.01"),
        ("/api/", "0.01"),
        ("/api/a/b", "0.01"),
        ("/api/health", None),
        ("/apix", None),
        ("/files/7/raw", "0.02"),
        ("/files/7/8/raw", None),
        ("/", None),
        # Whoever resolves dots serves another path than whoever does not: both must be free.
        ("/api/health/../secret", "0.01"),
        ("/api/secret/../health", "0.01"),
        ("/api/secret/../../public", "0.01"),
        ("/public/../api/secret", "0.01"),
        ("/shelf/cheap", "0.04"),
        ("/shelf/dear/../cheap", "5"),
        ("/files//raw", "0.02"),
        ("/files/7%2Fraw", "0.02"),
    ],
)
def test_the_first_pattern_counts_and_doubt_costs(path: str, wanted: str | None) -> None:
    assert price(path) == wanted


def test_a_rule_decides_by_the_request() -> None:
    assert price("/by-rule", method="POST") == "0.03"
    assert price("/by-rule") is None


@pytest.mark.parametrize("amount", ["0", "-1", "1e3", "1.0000001", "00.01", "01", "", "٣", 0.01, True])
def test_a_price_that_is_none_is_refused_at_the_start(amount: object) -> None:
    with pytest.raises(SettingsError):
        Price(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "ftp://pay.example"},
        {"url": "http://pay.example/api/v1/x402"},
        {"url": "https://user@pay.example"},
        {"key": ""},
        {"key": "line\nbreak"},
        {"prices": {}},
        {"prices": {"report": "1"}},
    ],
)
def test_settings_that_cannot_work_or_are_not_safe_are_refused_at_the_start(
    facilitator: StandIn, changes: dict[str, object]
) -> None:
    good = {"url": facilitator.url, "key": "k", "prices": {"/": "1"}}
    Config(**good)  # type: ignore[arg-type]
    with pytest.raises(SettingsError):
        Config(**(good | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("style", STYLES)
def test_no_price_is_asked_for_a_path_that_the_facilitator_does_not_take(open_shop: OpenShop, style: str) -> None:
    shop = open_shop(style, prices={"/reports/*": "0.01"})
    assert [shop.get(f"/reports/{name}").status for name in ("bell\x07", "\x85", "über 7")] == [400, 400, 402]
    assert shop.get("/free/bell\x07").status == 200
    assert len(shop.served) == 1


def test_a_path_too_long_to_judge_is_not_served(open_shop: OpenShop) -> None:
    shop = open_shop()
    assert shop.get("/" + "a" * 2_000).status == 414
    assert shop.served == []
