"""The experiments of Broderick and Gramacy (2011), and their peers, side by side.

>>> from treedgp.experiments import Settings, reproduce
>>> print(reproduce("friedman", "out", Settings(quick=True)).report)  # doctest: +SKIP
"""

from treedgp.experiments.job import Settings
from treedgp.experiments.run import NAMES, Reproduction, reproduce

__all__ = ["NAMES", "Reproduction", "Settings", "reproduce"]
