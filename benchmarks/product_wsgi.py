"""The product as production serves it, with limits so high that a load generator never meets them."""

from checkouts import api
from gateway.core.ratelimit import Limit
from gateway.wsgi import application

_HIGH = 10**9
for view in (api.CheckoutCollection, api.CheckoutItem):
    view.limits = {
        method: Limit(limit.scope, _HIGH) for method, limit in view.limits.items()
    }

__all__ = ["application"]
