"""Data and model in words, and the code that repeats the fit."""

from __future__ import annotations

import json
import platform
from dataclasses import fields
from numbers import Integral
from pprint import pformat
from types import SimpleNamespace
from typing import Any

import numpy as np

from treedgp.estimators.persistence import settings_to_json
from treedgp.model.data import CategoricalColumn
from treedgp.model.priors import Priors
from treedgp.model.priors_json import priors_from_json
from treedgp.plot.fitted import Fitted
from treedgp.posterior.trees import printable
from treedgp.words import counted

KERNELS = {
    "gaussian": "Gaussian",
    "matern12": "Matérn 1/2",
    "matern32": "Matérn 3/2",
    "matern52": "Matérn 5/2",
}
LEVELS_SHOWN = 8


def number(value: float) -> str:
    """Four digits, without an exponent where that is readable."""
    return f"{float(f'{value:.4g}'):,.10g}"


def data_in_words(fitted: Fitted) -> str:
    rows, columns = counted(len(fitted.X), "row"), counted(len(fitted.columns), "input column")
    categorical = sum(fitted.is_categorical(i) for i in range(len(fitted.columns)))
    kinds = f" ({categorical} categorical)" if categorical else ""
    if fitted.is_classifier:
        shares = np.bincount(fitted.y.astype(int), minlength=len(fitted.classes)) / len(fitted.y)
        classes = ", ".join(
            f"{printable(name)} ({share:.0%})" for name, share in zip(fitted.classes, shares, strict=True)
        )
        response = f"The response is one of {len(fitted.classes)} classes: {classes}."
    else:
        low, mean, high = fitted.y.min(), fitted.y.mean(), fitted.y.max()
        response = f"The response runs from {number(low)} to {number(high)}, with mean {number(mean)}."
    return f"{rows} and {columns}{kinds}. {response}"


def column_table(fitted: Fitted) -> list[dict[str, str]]:
    """A row for each input column: its values, and who uses it."""
    encoder = fitted.model._session.problem.encoder
    table = []
    for i, column in enumerate(fitted.columns):
        users = ["tree"] if fitted.has_tree and i in encoder.split else []
        if fitted.leaves_use_columns and i in encoder.leaf:
            users.append("leaves")
        if isinstance(column, CategoricalColumn):
            shown = ", ".join(column.labels[:LEVELS_SHOWN]) + (", …" if column.size > LEVELS_SHOWN else "")
            values = f"{counted(column.size, 'level')}: {shown}"
        else:
            values = f"{number(column.low)} to {number(column.high)}"
        table.append({"column": column.name, "values": values, "used by": " and ".join(users) or "nothing"})
    return table


def model_in_words(fitted: Fitted) -> list[str]:
    """Sentences: what a region holds, how regions are cut, how it was sampled."""
    spec = fitted.spec
    sentences = [_leaf_in_words(fitted)]
    if fitted.has_tree:
        prior = spec.priors.tree
        sentences.append(
            f"{_trees_in_words(fitted)} A node at depth D splits with prior probability "
            f"{prior.alpha:g} / (1 + D)^{prior.beta:g}."
        )
    else:
        sentences.append("There is no tree: one region holds all rows.")
    schedule = spec.schedule
    chains, draws = fitted.model.posterior_.log_posterior.shape
    thinned = f", one in {schedule.thin} rounds kept" if schedule.thin > 1 else ""
    sentences.append(
        f"{counted(chains, 'chain')} made {schedule.rounds(draws):,} rounds each, {schedule.tune:,} of them to tune: "
        f"{draws:,} draws a chain{thinned}."
    )
    return sentences


def leaves_in_words(fitted: Fitted) -> str:
    """How many regions the trees of the draws have; of all classes together where each has its own."""
    counts = np.bincount(np.ravel(fitted.model.posterior_.n_leaves))
    shares = [(n, count / counts.sum()) for n, count in enumerate(counts) if count >= 0.005 * counts.sum()]
    shares = sorted(sorted(shares, key=lambda pair: -pair[1])[:6])
    return ", ".join(f"{counted(n, 'leaf', 'leaves')} in {share:.0%}" for n, share in shares) + (
        " of draws, all trees together." if len(fitted.targets) > 1 else " of draws."
    )


def code_in_words(fitted: Fitted) -> str:
    """Python that repeats the fit."""
    model = fitted.model
    changed = _changed_settings(fitted)
    names = [type(model).__name__]
    if "priors" in changed:
        names += ["Priors", *sorted(type(getattr(changed["priors"], part.name)).__name__ for part in fields(Priors))]
    columns = ", ".join(map(printable, fitted.names[:5])) + (", ..." if len(fitted.names) > 5 else "")
    lines = [
        f"from treedgp import {', '.join(names)}",
        "",
        f"X, y = ...  # {counted(len(fitted.X), 'row')}; columns {columns}",
        f"model = {_call(names[0], changed)}",
        "model.fit(X, y)",
        'model.report("report.html")',
    ]
    if not isinstance(model.random_state, Integral):
        lines.insert(-3, "# random_state was not an integer: the draws will differ.")
    return "\n".join(lines)


def _changed_settings(fitted: Fitted) -> dict[str, Any]:
    """Those that are not the default, as a file would give them back."""
    model = fitted.model
    settings = json.loads(json.dumps(settings_to_json(model))) | {"draws": _draws(fitted)}
    if settings["priors"] is not None:
        settings["priors"] = priors_from_json(settings["priors"])
    defaults = type(model)().get_params()
    return {name: value for name, value in settings.items() if value != defaults[name]}


def _call(name: str, settings: dict[str, Any]) -> str:
    """In short lines, and in full: scikit-learn leaves out what is beyond 30 columns."""
    call = pformat(type(name, (SimpleNamespace,), {})(**settings), compact=True)
    return call.replace("\n", "\n" + " " * len("model = "))


def versions(fitted: Fitted) -> dict[str, str]:
    import sklearn

    import treedgp

    found: dict[str, str] = {
        "treedgp": treedgp.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "instruction set": fitted.model._session.isa,
    }
    return found


def _leaf_in_words(fitted: Fitted) -> str:
    spec = fitted.spec
    if spec.leaf == "constant":
        return "Each region has " + ("class probabilities of its own." if fitted.is_classifier else "a constant.")
    if spec.leaf == "linear":
        return "Each region has a linear model."
    ranges = "one length scale" if spec.isotropic else "a length scale for each input"
    text = f"Each region has a Gaussian process: {KERNELS[spec.kernel]} kernel, {ranges}, {spec.mean} mean"
    if spec.limiting_linear:
        is_constant = spec.mean == "constant"
        limit = "drop inputs one by one, down to a constant" if is_constant else "become linear input by input"
        text += f", free to {limit}"
    return text + (" (one process for each class but the base)." if fitted.is_classifier else ".")


def _trees_in_words(fitted: Fitted) -> str:
    if fitted.is_classifier and fitted.targets != [None]:
        return "Each class but the base has a random tree that cuts the inputs into regions."
    return "A random tree cuts the inputs into regions."


def _draws(fitted: Fitted) -> int:
    """Those there are; after extend() or Ctrl-C not those asked for at first."""
    draws: int = fitted.model.posterior_.draws.n_draws
    return draws


def settings(fitted: Fitted) -> dict[str, str]:
    """Every constructor argument, as code."""
    return {name: repr(value) for name, value in {**fitted.model.get_params(), "draws": _draws(fitted)}.items()}
