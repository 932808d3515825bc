"""What a process has in common with others that share no claims with it: nothing."""

from florin_x402.claims import MemoryClaims


class Forgetful(MemoryClaims):
    """Claims that decide nothing."""

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Say that nobody has had it."""
        return True
