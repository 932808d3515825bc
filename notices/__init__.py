"""Notices: who is told of what, by mail, in a browser or in a chat.

A notice follows from a row that claims a fact. A periodic pass looks such rows up, so that nothing of it is in a payment's
transaction. Mails go through `mails`, all else through the outbox and sender of `webhooks`.
"""
