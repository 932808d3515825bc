"""The demonstration: a merchant, a shop that sells to you, and chains to pay on."""
