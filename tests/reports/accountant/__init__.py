"""Tests of a month for the accountant."""
