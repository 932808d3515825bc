"""Carrying EVM authorisations out: judged by their kind (EIP-3009 or Permit2), sent through our ledger of gas accounts."""
