"""The one table that belongs to no app: leases by name."""

from gateway.core.leases import Lease

__all__ = ["Lease"]
