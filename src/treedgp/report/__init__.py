"""A fitted model on one HTML page, and in a few lines for notebooks."""

from treedgp.report.page import write_report
from treedgp.report.short import short_form
from treedgp.report.verdict import Verdict, verdict

__all__ = ["Verdict", "short_form", "verdict", "write_report"]
