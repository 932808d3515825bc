"""The page of rates: what each source said last and when, what is decided from it, and the troubles of 30 days."""

from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from gateway.core.currencies import format_rate
from rates.models import RateTrouble
from rates.rule import Reading, Refusal
from rates.selectors import known_pegs, known_rates, policy, weak_tokens
from rates.service import REASONS

_SHOWN: Final = timedelta(days=30)
_MOST: Final = 200


def rates_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the page; `context` is what every page of the site needs. No source is asked."""
    now = timezone.now()
    rule = policy()
    troubles = RateTrouble.objects.filter(began_at__gte=now - _SHOWN).order_by("-began_at", "-pk")[:_MOST]
    shown = {
        "title": "Rates",
        "sources": rule.sources,
        "daily": rule.daily,
        "single": rule.is_single_allowed,
        "agreement": f"{rule.agreement * 100:f}".rstrip("0").rstrip("."),
        "most_age": settings.RATE_MOST_AGE_SECONDS,
        "rows": [
            (one.currency, REASONS[one.refusal] if one.refusal else "", list(map(_shown, one.readings)))
            for one in known_rates(now=now)
        ],
        "pegs": [(token, list(map(_shown, sorted(told)))) for token, told in sorted(known_pegs().items())],
        "weak": sorted(weak_tokens()),
        "troubles": [(one, REASONS[Refusal(one.reason)]) for one in troubles],
    }
    return render(request, "gateway/operator/rates.html", context | shown)


def _shown(reading: Reading) -> tuple[str, str, Any]:
    return reading.source, format_rate(reading.rate), reading.taken_at
