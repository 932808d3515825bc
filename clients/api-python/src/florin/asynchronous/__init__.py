"""The same client for asynchronous programs: `from florin.asynchronous import AsyncFlorin`. It needs `florin[async]`."""

from florin.asynchronous.calls import AsyncPages, AsyncSender
from florin.asynchronous.client import AsyncFlorin

__all__ = ["AsyncFlorin", "AsyncPages", "AsyncSender"]
