"""Payment links for wallets of EVM chains. Pure."""

from wallets.chains.payments import PaymentRequest, WalletLink


def payment_uri(request: PaymentRequest) -> str:
    """Return `ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<base units>` (ERC-681)."""
    return f"ethereum:{_transfer(request)}"


def wallet_links(request: PaymentRequest) -> list[WalletLink]:
    """Return the link into MetaMask."""
    return [WalletLink("MetaMask", f"https://link.metamask.io/send/{_transfer(request)}")]


def _transfer(request: PaymentRequest) -> str:
    target = f"{request.token_address}@{request.spec.chain_id}/transfer"
    return f"{target}?address={request.address}&uint256={request.units}"
