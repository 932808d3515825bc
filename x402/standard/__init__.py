"""The public x402 standard, versions 1 and 2, scheme `exact`: payers sign, and our gas account carries it out.

Each family of chains judges signatures and makes the call in its own folder. Which merchant, token and chain it may be
about, whose turn it is, and what is sent, is decided here.
"""
