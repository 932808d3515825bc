"""The named leases, the one table that belongs to no app."""

from gateway.core.leases import Lease

__all__ = ["Lease"]
