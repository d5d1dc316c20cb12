"""Which task a target stands for."""

import numpy as np
import pandas as pd
import pytest

from treedgp.cli.task import infer_task

N = np.arange(60)


@pytest.mark.parametrize(
    ("values", "task", "words"),
    [
        (np.where(N % 2, "yes", "no"), "classification", "text with 2 values"),
        (N % 2 == 0, "classification", "true/false"),
        ([True, False, None] * 20, "classification", "true/false with 2 values"),
        (pd.Categorical(N % 3), "classification", "text with 3"),
        (N % 3, "classification", "3 whole numbers"),
        ((N % 3).astype(float), "classification", "3 whole numbers"),
        (N % 10, "classification", "10 whole numbers"),
        (N % 11, "regression", "11 different"),
        (N % 3 + 0.5, "regression", "3 different"),
        (N, "regression", "60 different"),
        (np.sqrt(N), "regression", "60 different"),
        (np.arange(4), "regression", "4 different"),
        (pd.array([1, 2] * 30, dtype="Int64"), "classification", "2 whole"),
    ],
)
def test_the_task_and_its_reason(values, task, words):
    choice = infer_task(pd.Series(values, name="y"))
    assert choice.task == task
    assert words in choice.reason
    assert "'y'" in choice.reason
