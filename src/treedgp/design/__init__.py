"""Where to put the points: space-filling designs for experiments and for thinning large data."""

from treedgp.design.entropy import maximum_entropy
from treedgp.design.latin import latin_hypercube

__all__ = ["latin_hypercube", "maximum_entropy"]
