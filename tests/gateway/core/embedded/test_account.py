"""Which account engines run as, and what it can reach."""

from pathlib import Path

from gateway.core.embedded.account import EngineAccount, reachable

STRANGER = EngineAccount(uid=47_123, gid=47_123, switches=True)


def test_a_private_folder_on_the_way_is_out_of_reach(homes: Path) -> None:
    inner = homes / "private" / "inner"
    inner.mkdir(parents=True)
    inner.chmod(0o755)
    inner.parent.chmod(0o755)
    assert reachable(inner, STRANGER)
    inner.parent.chmod(0o700)
    assert not reachable(inner, STRANGER)
