"""The models of R's tgp by name: its priors, its run lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treedgp.errors import ConfigError
from treedgp.estimators.regressor import TreedGPRegressor
from treedgp.model.priors import (
    CoefficientPrior,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreePrior,
)

# Written out, so that they stay tgp's whatever the defaults of this package become.
TGP_PRIORS = Priors(
    tree=TreePrior(alpha=0.5, beta=2.0),
    lengthscale=LengthscalePrior(weights=(0.5, 0.5), shapes=(1.0, 10.0), rates=(20.0, 10.0)),
    nugget=NuggetPrior(weights=(1.0,), shapes=(1.0,), rates=(1.0,)),
    noise=NoisePrior(a=5.0, g=10.0, rates=(0.2, 10.0)),
    coefficients=CoefficientPrior(kind="flat"),
    limiting=LimitingPrior(gamma=10.0, theta1=0.2, theta2=0.7),
)


@dataclass(frozen=True)
class _Preset:
    leaf: str
    tree: bool
    limiting_linear: bool
    bte: tuple[int, int, int]  # tgp's: rounds of burn-in, rounds in all, every how many is kept

    def settings(self) -> dict[str, Any]:
        burn_in, rounds, thin = self.bte
        return {
            "leaf": self.leaf,
            "tree": self.tree,
            "limiting_linear": self.limiting_linear,
            "mean": "constant" if self.leaf == "constant" else "linear",
            "kernel": "gaussian",
            "isotropic": False,
            "priors": TGP_PRIORS,
            "tune": burn_in,
            "draws": (rounds - burn_in) // thin,
            "thin": thin,
        }


REGRESSION = {
    "blm": _Preset("linear", False, False, (1000, 4000, 3)),
    "btlm": _Preset("linear", True, False, (2000, 7000, 2)),
    "bcart": _Preset("constant", True, False, (2000, 7000, 2)),
    "bgp": _Preset("gp", False, False, (1000, 4000, 2)),
    "bgpllm": _Preset("gp", False, True, (1000, 4000, 2)),
    "btgp": _Preset("gp", True, False, (2000, 7000, 2)),
    "btgpllm": _Preset("gp", True, True, (2000, 7000, 2)),
}
CLASSIFICATION = ("cgp", "ctgp", "otgp", "bcart_classifier")


def preset(name: str, **overrides: Any) -> TreedGPRegressor:
    """A model of R's tgp, unfitted, with tgp's priors and run lengths.

    Parameters
    ----------
    name : {"blm", "btlm", "bcart", "bgp", "bgpllm", "btgp", "btgpllm"}
        b: Bayesian; t: treed; lm: linear model, cart: constant leaves, gp: Gaussian process; llm: with jumps to the
        limiting linear model.
    **overrides
        Arguments of `TreedGPRegressor`, in place of the preset's.

    Notes
    -----
    The rows of Section 4.1 of Broderick and Gramacy (2011), the R call of each, and its replacement. X has ten real
    columns, `reals`, and a categorical one, `category`, which enters a leaf only where it is listed, as 0/1 columns.

    bcart    bcart(X, Z)                             preset("bcart")
    btlm     btlm(X, Z)                              preset("btlm", leaf_features=[*reals, category])
    btlm2    btlm(X, Z, basemax=10)                  preset("btlm", leaf_features=reals)
    btgp     btgp(X, Z)                              preset("btgp", leaf_features=[*reals, category])
    btgp2    btgp(X, Z, basemax=10)                  preset("btgp", leaf_features=reals)
    btgp3    btgp(X, Z, basemax=10, splitmin=11)     preset("btgp", leaf_features=reals, split_features=[category])
    btgpllm  btgpllm(X, Z)                           preset("btgpllm", leaf_features=[*reals, category])
    btgp2llm btgpllm(X, Z, basemax=10)               preset("btgpllm", leaf_features=reals)
    btgp3llm btgpllm(X, Z, basemax=10, splitmin=11)  preset("btgpllm", leaf_features=reals, split_features=[category])
    """
    if name in CLASSIFICATION:
        raise ConfigError(
            f"preset {name!r} is a classifier, and classification is not in this release; "
            f"for regression choose one of {', '.join(REGRESSION)}."
        )
    if not isinstance(name, str) or name not in REGRESSION:
        raise ConfigError(f"preset must be one of {', '.join(REGRESSION)}, got {name!r}.")
    unknown = sorted(set(overrides) - set(TreedGPRegressor().get_params()))
    if unknown:
        raise ConfigError(
            f"preset takes arguments of TreedGPRegressor, got {', '.join(unknown)}; "
            "its docstring lists them (basemax and splitmin are leaf_features and split_features)."
        )
    return TreedGPRegressor(**REGRESSION[name].settings() | overrides)
