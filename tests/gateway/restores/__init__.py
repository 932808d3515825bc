"""Tests of what happens after a restore."""
