"""Bayesian treed Gaussian processes."""

__version__ = "0.1.0"
