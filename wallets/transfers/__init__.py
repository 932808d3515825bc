"""Recorded transfers and movements: writing, listing and adding them up."""
