"""Draws the picture of the README: `.venv/bin/python tools/readme_picture.py`."""

import warnings
from pathlib import Path

from matplotlib.figure import Figure

from treedgp import ConvergenceWarning, TreedGPClassifier, TreedGPRegressor, plot
from treedgp.datasets import load_motorcycle, make_mixed_classes

PICTURE = Path(__file__).parent.parent / "docs" / "_static" / "treedgp.png"

warnings.simplefilter("ignore", ConvergenceWarning)  # a picture is no result
crash, plants = load_motorcycle(), make_mixed_classes(300, random_state=1)
line = TreedGPRegressor(tune=2000, thin=5, n_jobs=2, random_state=1).fit(crash.X, crash.y)
classes = TreedGPClassifier(tune=1000, draws=500, thin=2, n_jobs=2, random_state=1).fit(plants.X, plants.y)

figure = Figure(figsize=(10, 3.3), layout="constrained", facecolor="white")
left, middle, right = figure.subplots(1, 3, width_ratios=[1.15, 1, 1])
plot.partition(line, left)
plot.slice(line, left).set(xlabel="time after the impact (ms)", ylabel="acceleration (g)")
plot.tree(classes, middle, target="thrives")
plot.surface(classes, right, columns=["temperature", "humidity"], at={"species": "orchid"})
figure.savefig(PICTURE, dpi=130)
