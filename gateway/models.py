"""The tables that belong to no app: named leases, and restores of the database."""

from gateway.core.leases import Lease
from gateway.core.restores import Restore

__all__ = ["Lease", "Restore"]
