"""Says which system packages are missing, and the one line that installs them."""

import importlib.util
import shutil
import sys
import sysconfig
from pathlib import Path

missing = []
if sys.version_info < (3, 11):  # noqa: UP036 - this script is what tells users of an older Python
    sys.exit(f"treedgp needs Python 3.11 or newer, this is {sys.version.split()[0]}. Try: make PYTHON=python3.11")
if importlib.util.find_spec("ensurepip") is None:
    missing.append("python3-venv")
if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
    missing.append("python3-dev")
if not any(map(shutil.which, ("c++", "g++", "clang++"))):
    missing.append("g++")
if missing:
    sys.exit(f"Missing system packages. On Debian or Ubuntu: sudo apt-get install {' '.join(missing)}")
