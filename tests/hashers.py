"""A password hasher for tests that are not about how long hashing takes."""

from accounts.login.hashers import LimitedArgon2Hasher


class QuickHasher(LimitedArgon2Hasher):
    """The product's hasher with as little work as it takes."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1
