"""The UCI credit approval data, read from a file or fetched from OpenML."""

import os
from typing import TYPE_CHECKING

import numpy as np

from treedgp.datasets.dataset import Dataset
from treedgp.errors import ConfigError, DataError

if TYPE_CHECKING:
    import pandas as pd

# Levels in the order in which the data's documentation declares them; A4 = t never occurs.
LEVELS = {
    "A1": "b a",
    "A4": "u y l t",
    "A5": "g p gg",
    "A6": "c d cc i j k m r q w x e aa ff",
    "A7": "v h bb j n z dd ff o",
    "A9": "t f",
    "A10": "t f",
    "A12": "t f",
    "A13": "g p s",
}
COLUMNS = [f"A{j}" for j in range(1, 16)]
LABELS = ("+", "-")

DESCRIPTION = """\
Credit approval, UCI Machine Learning Repository (Quinlan, J. R., 1987; CC BY 4.0): 690 credit card
applications with anonymised attributes A1..A15, 9 of them categorical, and the decision '+' or '-'. 37 rows
have missing values. The categories are the declared levels in their declared order, 41 in total; one of them
never occurs."""

WHERE_TO_GET_IT = (
    "download crx.data from https://archive.ics.uci.edu/dataset/27/credit+approval (the file inside the zip) "
    "and call load_credit_approval('path/to/crx.data')"
)


def load_credit_approval(path: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the credit approval data: a data frame with columns A1..A15 and labels '+' and '-'.

    Parameters
    ----------
    path : path or None
        The file ``crx.data``. None fetches the data from OpenML, through scikit-learn's cache.

    Returns
    -------
    Dataset
        With X a data frame: category dtype for the categorical columns, floats for the others, missing
        values as NaN.
    """
    if not (path is None or isinstance(path, str | os.PathLike)):
        raise ConfigError(f"path must be the path of crx.data or None, got {path!r}; {WHERE_TO_GET_IT}")
    table = _fetch() if path is None else _read(path)
    X = table[COLUMNS].apply(_typed)
    y = table["class"].to_numpy(dtype=object, na_value="?").astype(str)
    wrong = sorted(set(y.tolist()) - set(LABELS))
    if wrong:
        raise DataError(
            f"the class must be '+' or '-', got {', '.join(map(repr, wrong))}; "
            f"use the file unchanged: {WHERE_TO_GET_IT}"
        )
    return Dataset(X, y, None, list(COLUMNS), [COLUMNS.index(name) for name in LEVELS], DESCRIPTION)


def _read(path: str | os.PathLike[str]) -> "pd.DataFrame":
    """Sixteen columns of text, '?' as missing."""
    import pandas as pd

    try:
        table = pd.read_csv(path, header=None, dtype=str, na_values=["?"], keep_default_na=False)
    except (OSError, ValueError) as error:  # pandas' parser errors are ValueErrors
        raise DataError(
            f"expected the credit approval data at {os.fspath(path)!r}, but reading it failed ({error}); "
            f"{WHERE_TO_GET_IT}"
        ) from error
    if table.shape[1] != 16:
        raise DataError(
            f"expected 16 comma-separated columns in {os.fspath(path)!r}, got {table.shape[1]}; {WHERE_TO_GET_IT}"
        )
    return table.set_axis([*COLUMNS, "class"], axis=1)


def _fetch() -> "pd.DataFrame":
    try:
        from sklearn.datasets import fetch_openml

        bunch = fetch_openml("credit-approval", version=1, as_frame=True)
        return bunch.data[COLUMNS].assign(**{"class": bunch.target})
    except Exception as error:  # network, proxy, cache and service all fail in their own ways
        raise DataError(
            f"expected to fetch 'credit-approval' version 1 from OpenML, but that failed ({error}); {WHERE_TO_GET_IT}"
        ) from error


def _typed(column: "pd.Series") -> "pd.Series":
    """One attribute as categories with the declared levels, or as floats."""
    import pandas as pd

    name = str(column.name)
    if name not in LEVELS:
        try:
            return pd.to_numeric(column).astype(np.float64)
        except ValueError as error:
            raise DataError(
                f"column {name} must hold numbers or '?', got something else ({error}); "
                f"use the file unchanged: {WHERE_TO_GET_IT}"
            ) from error
    levels = LEVELS[name].split()
    wrong = sorted(set(column.dropna()) - set(levels))
    if wrong:
        raise DataError(
            f"column {name} must hold {', '.join(levels)} or '?', got {', '.join(map(repr, wrong))}; "
            f"use the file unchanged: {WHERE_TO_GET_IT}"
        )
    return column.astype(pd.CategoricalDtype(levels))
