"""The public x402 standard, versions 1 and 2, schemes `exact` and `upto`: payers sign, and our gas account submits.

Each family of chains judges signatures and makes the call in its own folder. The modules here determine a payment's
merchant, token and chain, which request carries it out, and what is sent.
"""
