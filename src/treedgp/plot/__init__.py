"""Pictures of a fitted model. Each function takes an estimator and an optional `ax`, and returns matplotlib Axes.

Nothing is shown and no setting of matplotlib changes: without `ax` a figure of its own is made, which
`ax.figure.savefig(...)` writes. Needs the extra `treedgp[plot]`.
"""

from treedgp.plot.calibrations import calibration
from treedgp.plot.curves import latent, projection, slice
from treedgp.plot.frequencies import split_frequencies
from treedgp.plot.partitions import partition
from treedgp.plot.surfaces import surface
from treedgp.plot.traces import trace
from treedgp.plot.trees import tree

__all__ = [
    "calibration",
    "latent",
    "partition",
    "projection",
    "slice",
    "split_frequencies",
    "surface",
    "trace",
    "tree",
]
