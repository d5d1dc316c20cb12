"""`treedgp predict`: a saved model on new rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from sklearn.base import is_classifier

import treedgp
from treedgp.cli import show
from treedgp.cli.files import check_output, read_table, write_table
from treedgp.cli.models import predictions
from treedgp.errors import ConfigError, DataError
from treedgp.words import counted, quoted


def predict(
    model_file: Annotated[Path, typer.Argument(help="A model saved by treedgp fit.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help="New rows: .csv, .tsv or .parquet.", metavar="NEW")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Table to write; by default printed as CSV.")
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="Share of new observations between lower and upper of a regression; 0.9.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of CSV or words.")] = False,
) -> None:
    """Predict new rows, in their order: mean, sd, lower and upper, or label and probabilities."""
    if output is not None:
        check_output(output, model_file, data, table=True)
    model = treedgp.load(model_file)
    if is_classifier(model) and level is not None:
        raise ConfigError(
            f"Expected no --level for a classification, which gives probabilities and no intervals, got {level}. "
            "Leave it out."
        )
    schema = model._session.schema
    text = [name for name, levels in zip(schema.names, schema.levels, strict=True) if _is_text(levels)]
    X = _inputs(read_table(data, text), schema)
    table = predictions(model, X, 0.9 if level is None else level)
    about = {"task": "classification" if is_classifier(model) else "regression", "rows": len(table)}
    if output is None:
        if as_json:
            show.print_json({**about, "predictions": table.to_dict(orient="records")})
        else:
            table.to_csv(sys.stdout, index=False)
        return
    write_table(table, output)
    if as_json:
        show.print_json({**about, "output": str(output)})
    else:
        show.results().print(f"Wrote {counted(len(table), 'row')} of {', '.join(table.columns[:6])} to {output}.")


def _is_text(levels: Any) -> bool:
    return levels is not None and any(level.sort == "str" for level in levels)


def _inputs(frame: pd.DataFrame, schema: Any) -> Any:
    """The training columns in their order; others are left out."""
    names = list(schema.names) if schema.is_frame else list(frame.columns)
    if len(names) != len(schema.names):
        columns = counted(len(schema.names), "column")
        raise DataError(
            f"The model was fitted to an array of {columns} without names: expected a table of as many, in that order, "
            f"got {len(names)}. Leave out the others."
        )
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DataError(
            f"The new rows lack {quoted(missing)}: expected every input column of the training table, "
            f"got {quoted(list(frame.columns))}. Add or rename columns."
        )
    X = frame[names]
    for name, levels in zip(names, schema.levels, strict=True):
        rows = np.flatnonzero(X[name].isna())
        if levels is None and len(rows):
            where = ", ".join(str(row + 1) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
            raise DataError(
                f"Column {name!r} lacks {len(rows)} of {len(X)} values (data rows {where}): expected a number in every "
                "row. Fill them in, or leave these rows out."
            )
    return X if schema.is_frame else X.to_numpy()
