"""The core under AddressSanitizer and UndefinedBehaviorSanitizer, on every instruction set of this machine.

The sanitized build lives in build/sanitize and is brought up to date by CMake, so only a first run is slow.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "sanitize"
DRIVER = Path(__file__).with_name("driver.py")
COMPILER = os.environ.get("CXX", "g++")


def tool(name):
    """A command of this environment, or of the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def library(name):
    """Path of a compiler runtime library, or None."""
    if shutil.which(COMPILER) is None:
        return None
    found = subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    return found if os.path.isabs(found) else None


pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the sanitizer is preloaded the Linux way"),
    pytest.mark.skipif(library("libasan.so") is None, reason=f"{COMPILER} has no AddressSanitizer"),
    pytest.mark.skipif(tool("cmake") is None or tool("ninja") is None, reason="needs CMake and Ninja"),
]


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@contextmanager
def locked(path):
    """One process at a time: tests may run in several."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def sanitized():
    """The directory of the sanitized core."""
    nanobind = run([sys.executable, "-m", "nanobind", "--cmake_dir"]).strip()
    settings = {
        "CMAKE_MAKE_PROGRAM": tool("ninja"),
        "CMAKE_BUILD_TYPE": "Release",
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind,
        "TREEDGP_SANITIZE": "address,undefined",
        "TREEDGP_TESTING": "ON",
    }
    with locked(BUILD.with_suffix(".lock")):
        define = [f"-D{name}={value}" for name, value in settings.items()]
        run([tool("cmake"), "-S", ROOT, "-B", BUILD, "-G", "Ninja", *define], env=os.environ | {"CXX": COMPILER})
        run([tool("cmake"), "--build", BUILD, "--target", "_core"])
    return BUILD


def drive(directory, isa="", rounds=2000):
    """Plays the driver; any finding of a sanitizer ends it with an error."""
    environment = os.environ | {
        "LD_PRELOAD": f"{library('libasan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TREEDGP_ISA": isa,
        "OPENBLAS_NUM_THREADS": "1",
    }
    out = run([sys.executable, DRIVER, directory, str(rounds)], env=environment)
    used, played = out.split()
    assert int(played) > 200
    return used


def test_every_configuration_is_clean(sanitized):
    drive(sanitized)


@pytest.mark.parametrize("isa", ["avx512", "avx512vl", "avx2", "baseline", "scalar"])
def test_every_instruction_set_is_clean(sanitized, isa):
    try:
        assert drive(sanitized, isa, rounds=100) == isa
    except AssertionError as error:
        if "TREEDGP_ISA: expected one of" in str(error):
            pytest.skip(f"this machine has no {isa}")
        raise


def test_the_watch_is_awake(sanitized):
    """The driver really runs instrumented code: the sanitizer's runtime is part of the module."""
    (module,) = sanitized.glob("_core.*")
    assert b"__asan_report_load8" in module.read_bytes()
    assert b"__ubsan_handle" in module.read_bytes()
