"""The tables that belong to no app: leases by name, and restores of the database."""

from gateway.core.leases import Lease
from gateway.core.restores import Restore

__all__ = ["Lease", "Restore"]
