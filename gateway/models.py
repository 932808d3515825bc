"""The tables that belong to no app: named leases, restores of the database, incidents, and public keys of receipts."""

from gateway.core.leases import Lease
from gateway.core.restores import Restore
from gateway.core.signing import SigningKey
from gateway.status.models import Incident

__all__ = ["Incident", "Lease", "Restore", "SigningKey"]
