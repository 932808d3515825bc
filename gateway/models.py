"""The tables that belong to no app: named leases, restores of the database, and incidents."""

from gateway.core.leases import Lease
from gateway.core.restores import Restore
from gateway.status.models import Incident

__all__ = ["Incident", "Lease", "Restore"]
