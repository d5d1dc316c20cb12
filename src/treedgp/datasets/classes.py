"""Small classification problems: steps on a line, and plants with mixed inputs."""

import numpy as np

from treedgp.checks import RandomState, as_generator, check_count
from treedgp.datasets.dataset import Dataset, check_noise

STEP_DESCRIPTION = """\
Points equally spaced on [-2, 2]; class 0 where x < -2/3, 1 where -2/3 <= x < 2/3, 2 above. Broderick and
Gramacy (2011), "Classification and categorical inputs with treed Gaussian process models", Journal of
Classification 28."""

SPECIES = ("fern", "cactus", "orchid")
POTS = ("clay", "plastic")
FATES = ("wilts", "survives", "thrives")

MIXED_DESCRIPTION = """\
Made-up plants in a greenhouse: what becomes of a plant given temperature (10 to 35 °C), humidity (20 to
90 %), species and pot. With c the comfort

    fern:   (humidity - 55) / 15
    cactus: (temperature - 20) / 5 - (humidity - 40) / 20
    orchid: 2 - ((temperature - 23) / 5)^2 - ((humidity - 60) / 15)^2

plus normal noise, a plant thrives if c > 0.5, wilts if c < -0.5 and survives otherwise. The pot does not
matter."""


def make_step_classes(n: int = 60) -> Dataset:
    """Make three classes in three intervals of [-2, 2]: no noise, no randomness.

    Parameters
    ----------
    n : int
        Number of equally spaced points.
    """
    x = np.linspace(-2, 2, check_count(n))
    y = (x >= -2 / 3).astype(np.int64) + (x >= 2 / 3)
    return Dataset(x[:, np.newaxis], y, None, ["x"], [], STEP_DESCRIPTION)


def make_mixed_classes(n: int = 300, *, noise: float = 0.2, random_state: RandomState = None) -> Dataset:
    """Make three classes from two numeric and two categorical inputs, one of which does not matter.

    Parameters
    ----------
    n : int
        Number of rows.
    noise : float
        Standard deviation of the noise in a plant's comfort; the class borders differ by species.
    random_state : None, int, Generator or RandomState
        Source of randomness.

    Returns
    -------
    Dataset
        With X a data frame whose text columns have category dtype.
    """
    import pandas as pd

    n, noise = check_count(n), check_noise(noise)
    rng = as_generator(random_state)
    temperature = rng.uniform(10, 35, size=n).round(1)
    humidity = rng.uniform(20, 90, size=n).round(0)
    species = rng.integers(len(SPECIES), size=n)
    pot = rng.integers(len(POTS), size=n)

    comfort = np.choose(
        species,
        [
            (humidity - 55) / 15,
            (temperature - 20) / 5 - (humidity - 40) / 20,
            2 - ((temperature - 23) / 5) ** 2 - ((humidity - 60) / 15) ** 2,
        ],
    )
    felt = comfort + noise * rng.standard_normal(n)
    y = np.array(FATES)[(felt >= -0.5).astype(np.int64) + (felt > 0.5)]
    X = pd.DataFrame(
        {
            "temperature": temperature,
            "humidity": humidity,
            "species": pd.Categorical.from_codes(species, categories=list(SPECIES)),
            "pot": pd.Categorical.from_codes(pot, categories=list(POTS)),
        }
    )
    return Dataset(X, y, None, list(X.columns), [2, 3], MIXED_DESCRIPTION)
