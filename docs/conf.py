"""How the documentation is built: `make docs`. Tutorials run as they are built, and a warning is an error."""

import os
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import treedgp

project = "treedgp"
author = "the treedgp authors"
release = treedgp.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
root_doc = "index"
nitpicky = False

html_theme = "furo"
html_title = f"treedgp {release}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_copyright = False
html_math_renderer = "mathml"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

default_role = "code"  # a single backtick in a docstring
autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Floats": "Floats"}
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

# Every notebook starts with this: pictures of one size, tables of one width, no progress bars.
KERNEL_START = """
import matplotlib_inline.backend_inline
import pandas
import matplotlib.pyplot as plt
import treedgp.sampling.progress

matplotlib_inline.backend_inline.set_matplotlib_formats("svg")
plt.rcParams |= {"figure.figsize": (7, 3.6), "axes.spines.top": False, "axes.spines.right": False}
pandas.options.display.precision = 3
pandas.options.display.width = 100
treedgp.sampling.progress.DELAY_SECONDS = float("inf")
"""
ipython = Path(__file__).parent.parent / "build" / "docs-kernel"
startup = ipython / "profile_default" / "startup"
startup.mkdir(parents=True, exist_ok=True)
(startup / "start.py").write_text(KERNEL_START)
(startup.parent / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(ipython)


# Formulas as MathML, which browsers show by themselves: the pages need no network.
def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_math_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{tex2mathml(node.astext().strip(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
