"""How many files a process may have open."""

import resource

from gateway.core.open_files import allow_most_files


def test_the_limit_is_what_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        most = allow_most_files()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == hard
        assert most in {hard, None}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
