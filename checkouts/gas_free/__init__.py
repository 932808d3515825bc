"""Payments whose network fee this installation pays: the payer signs, our gas account sends, and watchers see a usual transfer."""
