"""Carrying EVM authorisations out: judged by the PyPI library, sent through our ledger of gas accounts."""
