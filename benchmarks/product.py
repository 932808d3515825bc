"""The product as served in production, with limits that a load generator never reaches."""

from importlib import import_module

from gateway.core.api.rate_limits import Limit
from gateway.rsgi import application

_HIGH = 10**9

# By name, because it can be imported only now that Django is set up.
_api = import_module("checkouts.api")
_machines = import_module("x402.api")
for _view in (_api.CheckoutViewSet, _machines.X402ViewSet):
    _view.limits = {action: Limit(limit.scope, _HIGH) for action, limit in _view.limits.items()}

__all__ = ["application"]
