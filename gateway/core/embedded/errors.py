"""Errors of the embedded engines."""


class EnginesError(Exception):
    """The engines cannot be prepared, started or stopped; the message says why."""


class EnginesBusyError(EnginesError):
    """Another supervisor holds this home."""
