"""Tests of what installs and keeps Florin."""
