"""Florin's tests."""

# Programs of the tests find the tree's own distributions by it: pytest does by its settings.
import demo as demo
