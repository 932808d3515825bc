"""The Machine Payments Protocol (MPP) beside x402: the same prices and payments under the HTTP scheme `Payment`.

`challenges` writes what a 402 asks and reads what payers show, `nonces` binds signatures to it, `desk` turns credentials into
payments that the facilitator knows, `problems` says what was wrong.
Source: drafts httpauth-payment-00 and evm-charge-00, https://github.com/tempoxyz/mpp-specs.
"""
