"""Which pictures tell most about a model."""

from __future__ import annotations

from collections.abc import Iterator

from treedgp import plot
from treedgp.plot.fitted import Fitted
from treedgp.posterior.trees import printable
from treedgp.report.pictures import Picture, picture
from treedgp.words import counted

HEIGHTS = 6  # trees shown of each target
LEAVES = 24  # a larger tree is given as text alone
TARGETS = 4  # classes whose trees are shown
EFFECTS = 3  # columns whose effect is shown


def importance(fitted: Fitted) -> list[Picture]:
    return [picture(plot.split_frequencies(fitted.model), "Share of draws whose tree splits on each column")]


def trees(fitted: Fitted) -> Iterator[Picture]:
    """The best tree of each height; of the best heights if there are many."""
    total = fitted.model.posterior_.log_posterior.size
    for target in fitted.targets[:TARGETS]:
        whose = "Height" if target is None else f"Class {printable(str(target))}, height"
        by_height = fitted.map_trees(target)
        rank = fitted.model.posterior_.tree_rank
        best = sorted(by_height, key=lambda height: rank(by_height[height]), reverse=True)[:HEIGHTS]
        for height in sorted(best):
            tree = by_height[height]
            caption = (
                f"{whose} {height}, {counted(tree.n_leaves, 'leaf', 'leaves')}, log posterior "
                f"{tree.log_posterior:.1f}, this very tree in {tree.n_draws:,} of {total:,} draws"
                f"{', the best of all' if height == best[0] else ''}."
            )
            if tree.n_leaves > LEAVES:
                yield Picture("", "", caption, 0, 0, str(tree))
                continue
            ax = plot.tree(fitted.model, height=height, target=target)
            yield picture(ax, f"Tree: {whose.lower()} {height}", caption, str(tree))


def trees_left_out(fitted: Fitted) -> str:
    """A sentence, if there are more classes than those shown."""
    if len(fitted.targets) <= TARGETS:
        return ""
    return (
        f"Shown are the trees of {TARGETS} of the {len(fitted.targets)} classes that have one; "
        "posterior_.map_trees(target=...) has the others."
    )


def regions(fitted: Fitted) -> Iterator[Picture]:
    """The partition and, over two numeric columns, predictions and their error."""
    model = fitted.model
    for target in fitted.targets[:TARGETS] if fitted.has_tree else ():
        whose = "" if target is None else f" of class {printable(str(target))}"
        yield picture(plot.partition(model, target=target), f"Regions of the best tree{whose}, and the data")
    if len(fitted.ranked()) >= 2:
        mean, error = ("Likeliest class", "Entropy") if fitted.is_classifier else ("Posterior mean", "Error")
        captions = ("the paler, the less likely", "high where classes are hard to tell apart")
        if not fitted.is_classifier:
            captions = ("over two columns", "the standard deviation of a new observation")
        yield picture(plot.surface(model), f"{mean}: {captions[0]}")
        yield picture(plot.surface(model, of="error"), f"{error}: {captions[1]}")


def effects(fitted: Fitted) -> Iterator[Picture]:
    """What single columns do: at a typical place, and on average over the rows."""
    model, columns = fitted.model, fitted.ranked(numeric=False)
    if len(columns) == 1:
        yield picture(plot.slice(model), f"Predictions along {fitted.names[0]}")
    else:
        for index in columns[:EFFECTS]:
            name = fitted.names[index]
            yield picture(plot.projection(model, column=index), f"{name}: averaged over the other columns")
            yield picture(plot.slice(model, column=index), f"{name}: the other columns fixed")
    if fitted.is_classifier and fitted.spec.leaf != "constant":
        along = (fitted.ranked() or columns)[0]
        yield picture(plot.latent(model, column=along), "Latents by class, with bands; the base class is at 0")


def traces(fitted: Fitted) -> Iterator[Picture]:
    """The log posterior, the number of leaves, and the prediction on which chains agree least."""
    summary = fitted.model.posterior_.summary()
    worst = summary["rhat"].filter(like="(probe ").fillna(0).idxmax()
    leaves = [name for name in summary.index if name.startswith("n_leaves")]
    for quantity in ["log_posterior", *leaves[:TARGETS], worst]:
        yield picture(plot.trace(fitted.model, quantity=quantity), f"Trace of {quantity}")


def check(fitted: Fitted) -> list[Picture]:
    what = "Reliability of the class probabilities" if fitted.is_classifier else "Coverage of the central intervals"
    return [picture(plot.calibration(fitted.model), what)]
