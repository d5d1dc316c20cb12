"""The report in a real browser: everything is there, nothing overflows, nothing complains."""

import json
import os
import re
import shutil
import subprocess

import pytest

from treedgp import TreedGPClassifier, TreedGPRegressor, datasets
from treedgp.report import write_report

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECTIONS = {"verdict", "data", "importance", "trees", "surfaces", "traces", "check", "timings", "code"}
PHONE, DESKTOP = 360, 1280

# The page is looked at from a frame around it, since it allows no script of its own.
AROUND = """<!doctype html><body style="margin: 0">
<iframe id="page" src="{address}" style="width: {width}px; height: 900px; border: 0"></iframe><pre id="measured"></pre>
<script>
document.getElementById("page").onload = async (event) => {{
  const page = event.target.contentDocument, root = page.documentElement;
  await Promise.all([...page.images].map((image) => image.decode()));
  const visible = (element) => element.getBoundingClientRect().width * element.getBoundingClientRect().height > 0;
  document.getElementById("measured").textContent = JSON.stringify({{
    width: root.clientWidth,
    content: root.scrollWidth,
    sections: [...page.querySelectorAll("section")].filter(visible).map((section) => section.id),
    images: [...page.images].map((image) => [image.alt, image.naturalWidth, image.getBoundingClientRect().width]),
    paper: event.target.contentWindow.getComputedStyle(page.body).backgroundColor,
  }});
}};
</script>"""


@pytest.fixture(scope="module", autouse=True)
def _browser():
    if CHROMIUM is None:
        reason = "no chromium here: install Debian's package chromium"
        if os.environ.get("TREEDGP_REQUIRE_CHROMIUM"):
            pytest.fail(f"TREEDGP_REQUIRE_CHROMIUM is set, but {reason}")
        pytest.skip(reason)


@pytest.fixture(scope="module", params=["regressor", "classifier"])
def report(request, tmp_path_factory):
    data = datasets.make_mixed_classes(120, random_state=1)
    if request.param == "classifier":
        model = TreedGPClassifier(draws=50, tune=100, chains=2, random_state=0).fit(data.X, data.y)
    else:
        X = data.X.rename(columns={"humidity": "a_rather_long_name_without_any_space_in_it" * 3})
        model = TreedGPRegressor(leaf="linear", draws=50, tune=50, chains=2, random_state=0)
        model.fit(X, data.X["temperature"] * (data.y == "wilts"))
    return write_report(model, tmp_path_factory.mktemp(request.param) / "report.html")


def look(report, width, *options):
    """What the page measures in a window of this width, and what the browser logged."""
    around = report.with_name(f"around-{width}.html")
    around.write_text(AROUND.format(address=report.name, width=width))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        f"--user-data-dir={report.with_name('profile')}",
        f"--window-size={width},900",
        "--virtual-time-budget=20000",
        *options,
        "--dump-dom",
        around.as_uri(),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr
    measured = re.search(r'<pre id="measured">(.+?)</pre>', run.stdout, flags=re.S)
    assert measured, run.stderr
    return json.loads(measured[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")), run.stderr


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_report_is_whole_at_phone_and_desktop_width(report, width):
    measured, log = look(report, width)
    assert measured["width"] == width
    assert measured["content"] <= width
    assert set(measured["sections"]) == SECTIONS
    assert len(measured["images"]) >= 9
    for alt, natural, shown in measured["images"]:
        assert alt
        assert natural > 0, alt
        assert shown > 200, alt
    assert "CONSOLE" not in log


def test_report_follows_a_dark_theme(report):
    light, dark = (
        look(report, DESKTOP, f"--blink-settings=preferredColorScheme={scheme}")[0]["paper"] for scheme in (1, 0)
    )
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (light, dark)]
    assert brightness[0] > 600
    assert brightness[1] < 150
