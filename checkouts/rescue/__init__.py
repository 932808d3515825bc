"""Answering a buyer who paid and sees nothing: a look at the books and the chain for one transaction hash."""
