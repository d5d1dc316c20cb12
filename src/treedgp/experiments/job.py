"""What an experiment is made of: settings, jobs, and the arrays that its figures need."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from treedgp.errors import ConfigError

Key = tuple[str, int, str]  # model, repetition, settings
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Settings:
    """What the user chooses; None is the experiment's own choice."""

    quick: bool = False
    repetitions: int | None = None
    chains: int | None = None
    data: Path | None = None

    def __post_init__(self) -> None:
        for name in ("repetitions", "chains"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}; leave it out for the experiment's own.")

    def pick(self, quick: Any, full: Any) -> Any:
        return quick if self.quick else full


@dataclass(frozen=True)
class RunLength:
    """Rounds of a chain: tune + draws * thin."""

    tune: int
    draws: int
    thin: int
    chains: int

    def arguments(self) -> dict[str, int]:
        return {"tune": self.tune, "draws": self.draws, "thin": self.thin, "chains": self.chains}

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.arguments().items())


@dataclass(frozen=True)
class Outcome:
    """Of one job: a row of scores, and arrays for the figures."""

    scores: Mapping[str, float]
    arrays: Arrays = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One model on one repetition (a seed or a fold)."""

    model: str
    repetition: int
    settings: str  # everything else that decides the outcome
    work: Callable[[], Outcome]  # picklable: it may run in another process
    cost: float  # in any unit, for the time left
    illustrates: bool = False  # the page or a figure shows its arrays

    @property
    def key(self) -> Key:
        return self.model, self.repetition, self.settings


@dataclass(frozen=True)
class Parts:
    """The arrays that the pages and figures show, one file a job."""

    folder: Path

    def save(self, key: Key, arrays: Arrays) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half.npz")
        np.savez_compressed(half, **arrays)  # type: ignore[arg-type]
        half.replace(path)

    def has(self, key: Key) -> bool:
        return self._path(key).exists()

    def load(self, key: Key) -> Arrays:
        with np.load(self._path(key)) as file:
            return dict(file)

    def _path(self, key: Key) -> Path:
        model, repetition, settings = key
        return self.folder / f"{model}-{repetition}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}.npz"


@dataclass(frozen=True)
class Results:
    """What the table and the figures are made of."""

    rows: pd.DataFrame  # model, repetition, settings and the scores
    parts: Parts

    def of(self, model: str) -> pd.DataFrame:
        return self.rows[self.rows["model"] == model]

    def models(self, order: Mapping[str, object]) -> list[str]:
        """Those with a row, in the given order."""
        present = set(self.rows["model"])
        return [model for model in order if model in present]

    def arrays(self, order: Mapping[str, object]) -> dict[str, Arrays]:
        """Of each model's first repetition, where there are any, in the given order."""
        first = self.rows[self.rows["repetition"] == 1].set_index("model")["settings"]
        keys = [(model, 1, str(first[model])) for model in order if model in first]
        return {key[0]: self.parts.load(key) for key in keys if self.parts.has(key)}


@dataclass(frozen=True)
class Experiment:
    name: str
    columns: tuple[str, ...]  # the scores
    jobs: Callable[[Settings], list[Job]]
    report: Callable[[Results, Settings], list[str]]  # paragraphs of Markdown
    draw: Callable[[Results, Settings], dict[str, Any]]  # file stem -> matplotlib figure
    takes_data: bool = False
