"""Tries an installation on bare machines that are containers, and writes down what was seen."""
