"""How a fitted estimator shows itself: a page, and a few lines in notebooks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


class DisplayMixin(BaseEstimator):  # type: ignore[misc]
    """For estimators with a `posterior_`. The report is of a higher layer and imported where it is asked for."""

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write what was found as one HTML page that needs nothing else; returns its path.

        Convergence verdict, data and model in words, importance, trees by height, partition and surfaces, traces,
        calibration, timings, code. Needs the extra `treedgp[report]`.
        """
        from treedgp.report.page import write_report

        check_is_fitted(self)
        return write_report(self, path)

    def _repr_html_inner(self) -> str:
        return self._short_form() + str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._short_form() + bundle["text/html"]
        return bundle

    def _short_form(self) -> str:
        """Verdict and summary above scikit-learn's diagram; nothing before a fit."""
        if not hasattr(self, "posterior_"):
            return ""
        from treedgp.report.short import short_form

        return short_form(self)
