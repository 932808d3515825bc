"""Which watcher is at work, and which one waits."""

from tests.installation import Installation


def is_standing_by(
    installation: Installation, watcher: str, *, since: str = "-infinity"
) -> bool:
    """Whether each of a watcher's threads asked for a lease since then, as its last question, and has none."""
    asked = installation.database.value(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'idle'"
        " AND query LIKE '%%wallets_chaincursor%%' AND query_start > %s",
        watcher,
        since,
    )
    owners = {installation.watcher_of(chain) for chain in installation.nodes}
    return bool(asked == len(installation.nodes) and watcher not in owners)


def has_taken_over(installation: Installation, watcher: str) -> bool:
    """Whether a watcher reads all chains."""
    return all(
        installation.watcher_of(chain) == watcher for chain in installation.nodes
    )
