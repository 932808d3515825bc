"""Structured logs with secrets redacted before they are written."""

import logging
import logging.config
import re
from collections import Counter
from typing import Any

import structlog

# API keys, webhook secrets, bearer headers and passwords inside URLs, wherever they turn up in a log line.
# Django names the path of a form that it refuses, and of a page that fails: some paths are a right, as those of claim links, new passwords,
# invitations, subscribers' own pages and links that end mails.
_SECRET = re.compile(
    r"(sk_(?:live|test)_|whsec_|Bearer\s+)[A-Za-z0-9+/=_-]{4,}|(?<=://)[^/@\s]*:[^/@\s]+(?=@)"
    r"|(?<=/r/)[0-9A-Za-z]{20}\b|(?<=/s/)[\w-]+:[\w:-]+|(/(?:reset/key|invitation|mute)/)[^/\s\"']{4,}"
)

# Loggers of refused requests and broken connections: django.security has one for each reason, such as DisallowedHost.
_BY_CLIENTS = ("django.security.", "gateway.server.sending")
_MOST_LETTERS = 200
_STDERR = {"class": "logging.StreamHandler", "formatter": "structured", "filters": ["one_line"]}
MOST_A_MINUTE = 10
"""How many lines of one kind a process writes about such requests."""


def redact(text: str) -> str:
    """Replace everything in `text` that looks like one of our secrets."""
    return _SECRET.sub(lambda match: f"{match[1] or match[2] or ''}[redacted]", text)


def _redact_line(_logger: Any, _method: str, line: str) -> str:
    """Redact secrets in the rendered line, so that those inside lists, exceptions and objects are found too."""
    return redact(line)


class OneLine(logging.Filter):
    """Shortens what any client can cause to one line without a traceback, and keeps so many of each kind a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is written."""
        if not record.name.startswith(_BY_CLIENTS):
            return True
        if (minute := int(record.created) // 60) != self._minute:
            self._minute, self._counts = minute, Counter()
        self._counts[record.name] += 1
        if isinstance(record.msg, str):
            record.msg, record.args = record.getMessage()[:_MOST_LETTERS], ()
        record.exc_info = record.exc_text = None
        return self._counts[record.name] <= MOST_A_MINUTE


def logging_config(*, json_lines: bool) -> dict[str, Any]:
    """Configure structlog and the standard library alike; return the dictConfig that was applied."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: Any = structlog.processors.JSONRenderer() if json_lines else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    config = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer, _redact_line],
            }
        },
        "handlers": {"stderr": _STDERR},
        "filters": {"one_line": {"()": OneLine}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django.request": {"level": "ERROR"},
            "celery": {"level": "WARNING"},
            # Florin's own log reports successes in fewer lines.
            "x402": {"level": "WARNING"},
        },
    }
    logging.config.dictConfig(config)
    return config
