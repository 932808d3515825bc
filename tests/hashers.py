"""A password hasher for tests that are not about how long hashing takes."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class QuickHasher(Argon2PasswordHasher):
    """The product's hasher with as little work as it takes."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1
