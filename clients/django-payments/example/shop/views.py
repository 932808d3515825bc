"""Pages of the shop."""

from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from payments import PaymentError, RedirectNeeded

from shop.models import Payment

_WORDS = {
    "waiting": "Your payment is not complete yet.",
    "confirmed": "Thank you. Your tea is on its way.",
    "rejected": "You did not pay in time. Order again.",
    "cancelled": "The order is cancelled.",
    "refunded": "Your money is on its way back.",
    "error": "Your payment was taken back. Write to us.",
}


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show what is sold."""
    return render(request, "shop/home.html", {"variants": settings.PAYMENT_VARIANTS})


@require_POST
def buy(request: HttpRequest) -> HttpResponse:
    """Make an order, and send its buyer to pay."""
    variant = request.POST.get("variant", "")
    if variant not in settings.PAYMENT_VARIANTS:
        return HttpResponse("There is no such way to pay.", status=400)
    made = Payment.objects.create(
        variant=variant, description="Two cups of tea", total=Decimal("25.00"), currency="USD"
    )
    return redirect("pay", token=made.token)


@require_GET
def pay(request: HttpRequest, token: UUID) -> HttpResponse:
    """Send the buyer to the payment page; a buyer who comes back gets the same one."""
    payment = get_object_or_404(Payment, token=str(token))
    try:
        payment.get_form()
    except RedirectNeeded as there:
        return redirect(str(there))
    except PaymentError as error:
        return render(request, "shop/order.html", {"payment": payment, "words": str(error)}, status=502)
    raise AssertionError


@require_GET
def order(request: HttpRequest, token: UUID) -> HttpResponse:
    """Show an order."""
    payment = get_object_or_404(Payment, token=str(token))
    return render(request, "shop/order.html", {"payment": payment, "words": _WORDS.get(payment.status, "")})


@require_GET
def facts(_request: HttpRequest, token: UUID) -> HttpResponse:
    """Tell a program what the shop knows of an order."""
    payment = get_object_or_404(Payment, token=str(token))
    return JsonResponse(
        {
            "status": payment.status,
            "fraud_status": payment.fraud_status,
            "captured": str(payment.captured_amount),
            "checkout": payment.transaction_id,
            "changes": [change.status for change in payment.changes.order_by("pk")],
        }
    )
