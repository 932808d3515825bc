"""Raises a process's limit of open files, and so of connections: shells set a low one."""

import resource


def allow_most_files() -> int | None:
    """Raise this process's limit to the system's maximum; return it, or None if there is no limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return None if most == resource.RLIM_INFINITY else most
