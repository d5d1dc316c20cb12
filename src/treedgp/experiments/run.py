"""Runs the jobs of an experiment, those that are not done yet, and writes its table and figures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import joblib
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from treedgp.errors import ConfigError
from treedgp.estimators.settings import check_run_settings
from treedgp.experiments.figures import NO_MATPLOTLIB, has_matplotlib, save
from treedgp.experiments.job import Experiment, Job, Outcome, Parts, Results, Settings
from treedgp.experiments.ledger import Ledger
from treedgp.experiments.markdown import versions

NAMES = ("friedman", "step", "exp2d", "credit")
FOREVER = 1e9  # seconds of work that the time left is estimated from


@dataclass(frozen=True)
class Reproduction:
    """What an experiment gave."""

    rows: pd.DataFrame
    """One row a model and repetition."""
    report: str
    """The Markdown page."""
    files: list[Path]
    """The page, the CSV file of the rows, and the figures."""


def reproduce(
    name: str,
    folder: str | Path = "reproduce",
    settings: Settings | None = None,
    *,
    models: Sequence[str] | None = None,
    n_jobs: int | None = None,
    progressbar: bool = True,
) -> Reproduction:
    """Run an experiment of the paper, or what is left of it, and write its table, rows and figures.

    Parameters
    ----------
    name : {"friedman", "step", "exp2d", "credit"}
        The experiment.
    folder : path
        Where the files go. Rows that are already there are not computed again.
    settings : Settings, optional
        Quick or full, repetitions, chains, data.
    models : list of str, optional
        Only these rows of the table; None: all.
    n_jobs : int, optional
        Repetitions run side by side in as many processes; None or -1: one a core.
    progressbar : bool
        On standard error, with the time left.
    """
    if name not in NAMES:
        raise ConfigError(f"the experiment must be one of {', '.join(NAMES)}, got {name!r}.")
    check_run_settings(n_jobs, bool(progressbar))
    experiment: Experiment = import_module(f"treedgp.experiments.{name}").EXPERIMENT
    settings = settings or Settings()
    if settings.data is not None and not experiment.takes_data:
        raise ConfigError(f"{name} makes its own data, got {str(settings.data)!r}; leave the data out.")
    folder = _made(Path(folder))
    jobs = experiment.jobs(settings)
    wanted = _chosen(jobs, models)
    ledger = Ledger.open(folder / f"{name}.csv", experiment.columns)
    parts = Parts(folder / f"{name}-parts")
    missing = [job for job in wanted if job.key not in ledger.rows]
    without_arrays = [job for job in jobs if job.illustrates and job.key in ledger.rows and not parts.has(job.key)]
    _work(missing + without_arrays, ledger, parts, n_jobs, progressbar, name)
    results = Results(ledger.frame([job.key for job in jobs]), parts)
    return _write(experiment, results, settings, ledger.path)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the output must be a folder that can be written, got {str(folder)!r} ({error}).") from error
    return folder


def _chosen(jobs: list[Job], models: Sequence[str] | None) -> list[Job]:
    known = list(dict.fromkeys(job.model for job in jobs))
    unknown = sorted(set(models or ()) - set(known))
    if unknown:
        raise ConfigError(f"models must be among {', '.join(known)}, got {', '.join(unknown)}.")
    return [job for job in jobs if models is None or job.model in models]


def _work(jobs: list[Job], ledger: Ledger, parts: Parts, n_jobs: int | None, progressbar: bool, name: str) -> None:
    bar = Progress(
        TextColumn(name),
        BarColumn(),
        TextColumn("{task.fields[done]} of {task.fields[jobs]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        speed_estimate_period=FOREVER,
        disable=not (progressbar and jobs),
    )
    with warnings.catch_warnings(), bar:
        # joblib renews a worker that has grown after many fits, and loses nothing.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
        task = bar.add_task(name, total=sum(job.cost for job in jobs), done=0, jobs=len(jobs))
        bar.advance(task, 0)  # the clock of the time left starts here
        for done, (job, outcome) in enumerate(_outcomes(jobs, n_jobs), start=1):
            if job.illustrates:
                parts.save(job.key, outcome.arrays)  # first: a row promises its arrays
            ledger.append(job, outcome)
            bar.update(task, advance=job.cost, done=done)


def _outcomes(jobs: list[Job], n_jobs: int | None) -> Iterator[tuple[Job, Outcome]]:
    """As they come. Processes, not threads: CPU time is counted by the process."""
    workers = min(len(jobs), joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))
    if workers <= 1:
        yield from map(_outcome, jobs)
        return
    parallel = joblib.Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")
    yield from parallel(joblib.delayed(_outcome)(job) for job in jobs)


def _outcome(job: Job) -> tuple[Job, Outcome]:
    # One thread each: CPU times compare, and jobs side by side do not fight for cores.
    with warnings.catch_warnings(), threadpool_limits(1):
        # Short chains and untuned peers are the experiment's choice; a table has no room for their warnings.
        warnings.simplefilter("ignore")
        return job, job.work()


def _write(experiment: Experiment, results: Results, settings: Settings, rows: Path) -> Reproduction:
    paragraphs = experiment.report(results, settings)
    files = [rows]
    if has_matplotlib():
        figures = save(experiment.draw(results, settings), rows.parent)
        paragraphs += [f"![{path.stem}]({path.name})" for path in figures]
        files += figures
    else:
        paragraphs.append(NO_MATPLOTLIB)
    page = rows.with_suffix(".md")
    report = "\n\n".join([*paragraphs, f"Every repetition is in `{rows.name}`. {versions()}"]) + "\n"
    page.write_text(report)
    return Reproduction(results.rows, report, [page, *files])
