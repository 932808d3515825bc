"""A facade of BTCPay Server's Greenfield API at `/btcpay`, for shop plugins that take any server's address.

An invoice there is a checkout, a store is a merchant in a key's mode, a webhook is a listed endpoint, a pull payment is a refund or
a payout. The facade stores only what it has to say again: which permissions a key was asked for, and a shop's options.
"""
