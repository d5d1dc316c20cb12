"""The models of R's tgp and of the paper by name: their priors, their run lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from treedgp.errors import ConfigError
from treedgp.estimators.base import TreedGPEstimator
from treedgp.estimators.classifier import TreedGPClassifier
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
# Latents have no scale to learn from: the paper's hierarchy with the noise's prior fixed.
LATENT_PRIORS = replace(
    TGP_PRIORS, noise=NoisePrior(a=5.0, g=10.0, rates=None), coefficients=CoefficientPrior(kind="hierarchical")
)
# As above, all that makes the model is written out.
LATENT_MODEL: dict[str, Any] = {
    "leaf": "gp",
    "limiting_linear": True,
    "kernel": "gaussian",
    "isotropic": False,
    "priors": LATENT_PRIORS,
}
CLASSIFICATION: dict[str, dict[str, Any]] = {
    "cgp": {**LATENT_MODEL, "tree": False, "tree_sharing": "per_class"},
    "ctgp": {**LATENT_MODEL, "tree": True, "tree_sharing": "per_class"},
    "otgp": {**LATENT_MODEL, "tree": True, "tree_sharing": "shared"},
    "bcart_classifier": {
        "leaf": "constant",
        "tree": True,
        "priors": TGP_PRIORS,
        "tune": 2000,
        "draws": 2500,
        "thin": 2,
    },
}


def preset(name: str, **overrides: Any) -> TreedGPEstimator:
    """A model of R's tgp or of the paper, unfitted, with its priors and, for tgp's models, run lengths.

    Parameters
    ----------
    name : {"blm", "btlm", "bcart", "bgp", "bgpllm", "btgp", "btgpllm", "cgp", "ctgp", "otgp", "bcart_classifier"}
        b: Bayesian; t: treed; lm: linear model, cart: constant leaves, gp: Gaussian process; llm: with jumps to the
        limiting linear model. Classifiers: cgp without trees, ctgp with a tree for each class, otgp with one for all,
        bcart_classifier with one tree and class shares in its leaves.
    **overrides
        Arguments of `TreedGPRegressor` or `TreedGPClassifier`, in place of the preset's.

    Notes
    -----
    The rows of Section 4.1 of Broderick and Gramacy (2011), the R call of each, and its replacement. X has ten real
    columns, `reals`, and a categorical one, `category`, which enters a leaf only where it is listed, as 0/1 columns::

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
    settings = {key: value.settings() for key, value in REGRESSION.items()} | CLASSIFICATION
    if not isinstance(name, str) or name not in settings:
        raise ConfigError(f"preset must be one of {', '.join(settings)}, got {name!r}.")
    kind: type[TreedGPEstimator] = TreedGPClassifier if name in CLASSIFICATION else TreedGPRegressor
    unknown = sorted(set(overrides) - set(kind().get_params()))
    if unknown:
        raise ConfigError(
            f"preset takes arguments of {kind.__name__}, got {', '.join(unknown)}; "
            "its docstring lists them (basemax and splitmin are leaf_features and split_features)."
        )
    return kind(**settings[name] | overrides)
