"""Recorded transfers and movements: write, list, add up."""
