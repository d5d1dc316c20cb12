"""Data sets: shapes, formulas recomputed row by row, determinism, and files."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from treedgp import datasets
from treedgp.errors import ConfigError, DataError

CREDIT = Path(__file__).resolve().parents[3] / "shared" / "data" / "crx.data"
CREDIT_ROWS = """\
b,30.83,0,u,g,w,v,1.25,t,t,01,f,g,00202,0,+
?,24.50,0.5,?,?,?,?,1.5,t,f,0,f,s,?,824,-
a,?,4,l,gg,aa,ff,3.04,f,f,06,t,p,00043,560,-
"""
RANDOM_MAKERS = [
    datasets.make_friedman_categorical,
    datasets.make_exp2d,
    datasets.make_exp2d_classes,
    datasets.make_mixed_classes,
]


def same(a: datasets.Dataset, b: datasets.Dataset) -> bool:
    return np.asarray(a.X).tolist() == np.asarray(b.X).tolist() and a.y.tolist() == b.y.tolist()


@pytest.mark.parametrize("make", RANDOM_MAKERS)
def test_random_state(make) -> None:
    assert same(make(50, random_state=3), make(50, random_state=np.int64(3)))
    assert same(make(50, random_state=3), make(50, random_state=np.random.default_rng(3)))
    assert same(make(50, random_state=np.random.RandomState(3)), make(50, random_state=np.random.RandomState(3)))
    assert not same(make(50, random_state=3), make(50, random_state=4))
    assert not same(make(50), make(50))
    rng = np.random.default_rng(3)
    assert not same(make(50, random_state=rng), make(50, random_state=rng))
    legacy = np.random.RandomState(3)
    assert not same(make(50, random_state=legacy), make(50, random_state=legacy))


@pytest.mark.parametrize("make", RANDOM_MAKERS)
def test_bad_arguments(make) -> None:
    for n in (0, -1, 2.5, "10"):
        with pytest.raises(ConfigError, match="n must be an integer"):
            make(n)
    for random_state in (-1, "0", 1.5):
        with pytest.raises(ConfigError, match="random_state must be"):
            make(10, random_state=random_state)
    if make is not datasets.make_exp2d_classes:
        for noise in (-1.0, math.nan, math.inf, "a", None, [0.1]):
            with pytest.raises(ConfigError, match="noise must be"):
                make(10, noise=noise)


@pytest.mark.parametrize(
    "data",
    [
        datasets.make_friedman_categorical(20),
        datasets.make_friedman_categorical(20, "bits3"),
        datasets.make_friedman_categorical(20, "bits4"),
        datasets.make_exp2d(20),
        datasets.make_exp2d_classes(20),
        datasets.make_step_classes(20),
        datasets.make_mixed_classes(20),
        datasets.load_motorcycle(),
    ],
)
def test_parts_fit_together(data: datasets.Dataset) -> None:
    rows, columns = data.X.shape
    assert data.y.shape == (rows,)
    assert data.f is None or data.f.shape == (rows,)
    assert len(data.feature_names) == len(set(data.feature_names)) == columns
    assert set(data.categorical) <= set(range(columns))
    assert len(data.description) > 50


def friedman_mean(x: np.ndarray, category: int) -> float:
    x1, x2, x3, x4, x5 = x[:5]
    if category == 1:
        return 10 * math.sin(math.pi * x1 * x2)
    if category == 2:
        return 20 * (x3 - 0.5) ** 2
    if category == 3:
        return 10 * x4 + 5 * x5
    return 5 * x1 + 10 * x2 + 20 * (x3 - 0.5) ** 2 + 10 * math.sin(math.pi * x4 * x5)


FRIEDMAN_CODES = {
    "category": {(0,): 1, (1,): 2, (2,): 3, (3,): 4},
    "bits3": {(0, 0, 0): 1, (0, 0, 1): 2, (0, 1, 0): 3, (1, 0, 0): 4},
    "bits4": {(1, 0, 0, 0): 1, (0, 1, 0, 0): 2, (0, 0, 1, 0): 3, (0, 0, 0, 1): 4},
}


@pytest.mark.parametrize("coding", FRIEDMAN_CODES)
def test_friedman(coding) -> None:
    data = datasets.make_friedman_categorical(400, coding, random_state=0)
    decode = FRIEDMAN_CODES[coding]
    width = len(next(iter(decode)))
    assert data.X.shape == (400, 10 + width)
    assert data.X.dtype == np.float64
    assert data.categorical == list(range(10, 10 + width))
    categories = [decode[tuple(row)] for row in data.X[:, 10:].astype(int)]
    assert set(categories) == {1, 2, 3, 4}
    assert data.f == pytest.approx([friedman_mean(x, c) for x, c in zip(data.X, categories, strict=True)])
    # Noise sd 1: the sample sd of 400 draws has standard error 0.035.
    assert np.std(data.y - data.f) == pytest.approx(1.0, abs=0.15)
    assert 0 <= data.X[:, :10].min() < 0.01
    assert 0.99 < data.X[:, :10].max() <= 1


def test_friedman_rows_do_not_depend_on_the_coding() -> None:
    first, second, third = (datasets.make_friedman_categorical(50, coding, random_state=1) for coding in FRIEDMAN_CODES)
    assert (first.X[:, :10] == second.X[:, :10]).all()
    assert (first.y == second.y).all()
    assert (first.y == third.y).all()


def test_friedman_noise_and_coding_are_checked() -> None:
    data = datasets.make_friedman_categorical(30, noise=0, random_state=0)
    assert (data.y == data.f).all()
    with pytest.raises(ConfigError, match=r"'bits3'.*'onehot'"):
        datasets.make_friedman_categorical(30, "onehot")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 80, 81])
def test_exp2d(n: int) -> None:
    data = datasets.make_exp2d(n, random_state=0)
    assert data.X.shape == (n, 2)
    assert data.f == pytest.approx([a * math.exp(-(a**2) - b**2) for a, b in data.X])
    assert np.abs(data.y - data.f).max() < 0.006
    assert np.abs(data.X[: n // 2]).max(initial=0) <= 2
    assert data.X.min() >= -2
    assert data.X.max() <= 6


def test_exp2d_defaults() -> None:
    data = datasets.make_exp2d(random_state=0)
    assert len(data.y) == 80
    assert (data.X[40:] > 2).any(axis=1).mean() == pytest.approx(0.75, abs=0.3)
    # Noise sd 0.001: the sample sd of 80 draws has standard error 8%.
    assert np.std(data.y - data.f) == pytest.approx(0.001, rel=0.35)


def test_exp2d_classes_on_the_grid() -> None:
    grid = datasets.make_exp2d_classes(None)
    assert grid.X.shape == (10_000, 2)
    assert np.unique(grid.X[:, 0]) == pytest.approx(np.linspace(-2, 6, 100))
    assert grid.y.sum() == 7481
    assert grid.y[grid.X[:, 0] > 2].all()


def test_exp2d_classes_are_signs_of_the_laplacian() -> None:
    data = datasets.make_exp2d_classes(random_state=0)
    assert len({tuple(x) for x in data.X}) == 400
    h = 1e-3

    def f(a: float, b: float) -> float:
        return a * math.exp(-(a**2) - b**2)

    checked = 0
    for (a, b), label in zip(data.X, data.y, strict=True):
        laplacian = (f(a + h, b) + f(a - h, b) + f(a, b + h) + f(a, b - h) - 4 * f(a, b)) / h**2
        if abs(laplacian) > 1e-4:
            assert label == (laplacian > 0)
            checked += 1
    assert checked > 80
    with pytest.raises(ConfigError, match="from 1 to 10000"):
        datasets.make_exp2d_classes(10_001)


def test_step_classes() -> None:
    data = datasets.make_step_classes()
    assert data.X[:, 0] == pytest.approx([-2 + 4 * i / 59 for i in range(60)])
    assert data.y.tolist() == [0] * 20 + [1] * 20 + [2] * 20


def fate(temperature: float, humidity: float, species: str) -> str:
    comfort = {
        "fern": (humidity - 55) / 15,
        "cactus": (temperature - 20) / 5 - (humidity - 40) / 20,
        "orchid": 2 - ((temperature - 23) / 5) ** 2 - ((humidity - 60) / 15) ** 2,
    }[species]
    return "thrives" if comfort > 0.5 else "wilts" if comfort < -0.5 else "survives"


def test_mixed_classes() -> None:
    clean = datasets.make_mixed_classes(noise=0, random_state=0)
    table = clean.X
    assert list(table.columns) == ["temperature", "humidity", "species", "pot"] == clean.feature_names
    assert [isinstance(t, pd.CategoricalDtype) for t in table.dtypes] == [False, False, True, True]
    assert clean.categorical == [2, 3]
    assert table.shape == (300, 4)
    expected = [fate(t, h, s) for t, h, s in zip(table.temperature, table.humidity, table.species, strict=True)]
    assert clean.y.tolist() == expected
    for species in table.species.cat.categories:
        assert len(set(clean.y[table.species == species])) == 3
    noisy = datasets.make_mixed_classes(random_state=0)
    assert 0.8 < (noisy.y == clean.y).mean() < 1


def test_motorcycle() -> None:
    data = datasets.load_motorcycle()
    assert data.X.shape == (133, 1)
    assert data.X[0, 0] == 2.4
    assert (data.X.min(), data.X.max()) == (2.4, 57.6)
    assert (data.y.min(), data.y.max()) == (-134.0, 75.0)
    assert (np.diff(data.X[:, 0]) >= 0).all()
    assert "Silverman" in data.description
    assert "1985" in data.description


@pytest.fixture
def small_credit_file(tmp_path: Path) -> Path:
    path = tmp_path / "crx.data"
    path.write_text(CREDIT_ROWS)
    return path


def check_small_credit(data: datasets.Dataset) -> None:
    assert data.y.tolist() == ["+", "-", "-"]
    assert data.categorical == [0, 3, 4, 5, 6, 8, 9, 11, 12]
    assert list(data.X.columns) == data.feature_names == [f"A{j}" for j in range(1, 16)]
    for j, column in enumerate(data.X):
        is_category = isinstance(data.X[column].dtype, pd.CategoricalDtype)
        assert is_category == (j in data.categorical)
        assert is_category or data.X[column].dtype == np.float64
    assert data.X["A14"].tolist()[::2] == [202.0, 43.0]
    assert data.X.isna().to_numpy().nonzero()[0].tolist() == [1, 1, 1, 1, 1, 1, 2]
    assert data.X["A1"].tolist()[::2] == ["b", "a"]


def test_credit_from_a_path(small_credit_file: Path) -> None:
    check_small_credit(datasets.load_credit_approval(small_credit_file))
    check_small_credit(datasets.load_credit_approval(str(small_credit_file)))


def test_credit_columns_in_the_papers_numbering(small_credit_file: Path) -> None:
    # Six numeric columns, then one column a declared level: 38 is A9 = t and 45 is A13 = p.
    data = datasets.load_credit_approval(small_credit_file)
    names = [f"{c}={level}" for c in data.X.select_dtypes("category") for level in data.X[c].cat.categories]
    assert len(names) == 41
    assert (names[38 - 6], names[45 - 6]) == ("A9=t", "A13=p")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b,30.83", "z,30.83", "column A1 must hold b, a or '\\?', got 'z'"),
        ("30.83", "thirty", "column A2 must hold numbers"),
        (",+", ",*", "class must be '\\+' or '-', got '\\*'"),
        (",+", ",?", "class must be"),
        (CREDIT_ROWS, "1,2,3\n", "expected 16 comma-separated columns .* got 3"),
        (CREDIT_ROWS, "", "reading it failed"),
        ("0,+\n", "0,+,1,2\n1,2,3\n", "reading it failed|16 comma-separated"),
    ],
)
def test_credit_file_that_is_damaged(small_credit_file: Path, old: str, new: str, message: str) -> None:
    small_credit_file.write_text(CREDIT_ROWS.replace(old, new))
    with pytest.raises(DataError, match=message) as caught:
        datasets.load_credit_approval(small_credit_file)
    assert "load_credit_approval('path/to/crx.data')" in str(caught.value)


def test_credit_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.data.*download crx\.data"):
        datasets.load_credit_approval(tmp_path / "nowhere.data")


def test_credit_at_no_path() -> None:
    with pytest.raises(ConfigError, match=r"path must be.*crx\.data or None, got 3; download"):
        datasets.load_credit_approval(3)  # type: ignore[arg-type]


def test_credit_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(DataError, match=r"no route to host.*download crx\.data from https://.*path/to/crx\.data"):
        datasets.load_credit_approval()


def test_credit_from_openml(monkeypatch: pytest.MonkeyPatch, small_credit_file: Path) -> None:
    def fetch(name: str, *, version: int, as_frame: bool) -> SimpleNamespace:
        assert (name, version, as_frame) == ("credit-approval", 1, True)
        table = pd.read_csv(small_credit_file, header=None, na_values="?")
        table.columns = pd.Index([f"A{j}" for j in range(1, 16)] + ["class"])
        text = table.columns[[not pd.api.types.is_numeric_dtype(t) for t in table.dtypes]]
        table = table.astype(dict.fromkeys(text, "category"))  # as OpenML's nominal attributes arrive
        return SimpleNamespace(data=table.drop(columns="class"), target=table["class"])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    check_small_credit(datasets.load_credit_approval())


@pytest.mark.skipif(not CREDIT.exists(), reason="the UCI file crx.data is not beside the repository")
def test_credit_in_full() -> None:
    data = datasets.load_credit_approval(CREDIT)
    assert data.X.shape == (690, 15)
    assert data.X.isna().any(axis=1).sum() == 37
    assert (data.y == "+").sum() == 307
    assert (data.y == "-").sum() == 383
