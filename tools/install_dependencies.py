"""Installs what pyproject.toml lists (build, run, and the extras named, else dev) into the running environment."""

import subprocess
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
for extra in sys.argv[1:] or ["dev"]:
    wanted += project["project"]["optional-dependencies"][extra]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", "-q", *wanted]))
