"""How many files, and so connections, a process may have open. Shells allow few, and systems many more."""

import resource


def allow_most_files() -> int | None:
    """Raise this process's limit to what the system allows; return that, None where there is no limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return None if most == resource.RLIM_INFINITY else most
