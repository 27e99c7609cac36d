#!/usr/bin/env python3
"""Runs a test of the Python package in the environment of scripts/python.

    run.py PACKAGE LIBRARY make           lays the package out in PACKAGE, with tables of the C API
    run.py PACKAGE LIBRARY pytest FILE    one file of tests over LIBRARY
    run.py PACKAGE LIBRARY mypy           the package's types
    run.py PACKAGE LIBRARY pyright        the same, by another checker

Without the environment it says SKIPPED, and how to make it.
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def environment():
    cache = os.environ.get("XDG_CACHE_HOME", "")
    cache = pathlib.Path(cache) if cache.startswith("/") else pathlib.Path.home() / ".cache"
    folder = pathlib.Path(os.environ.get("PC_PYTHON_ENV") or cache / "promptcache-python")
    if not (folder / "installed.txt").is_file():
        print(f"SKIPPED: {folder} has no Python environment; scripts/python makes one")
        sys.exit(0)
    return folder / "bin/python"


def make(python, package):
    """A copy, so that the tree of the sources stays as it is."""
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python/promptcache", package / "promptcache",
                    ignore=shutil.ignore_patterns("__pycache__", "_c_api.py"))
    return subprocess.run([python, "-B", ROOT / "python/make_bindings.py",
                           ROOT / "include/promptcache/promptcache.h", package / "promptcache/_c_api.py"])


def pyright(python, package):
    """By basedpyright, which has its Node.js with it. Its configuration names paths beside itself."""
    if subprocess.run([python, "-c", "import basedpyright"], stderr=subprocess.DEVNULL).returncode != 0:
        print("SKIPPED: basedpyright is for Python 3.10 and later, and this environment has none")
        sys.exit(0)
    shutil.copy(ROOT / "pyproject.toml", package / "pyproject.toml")
    return subprocess.run([python, "-m", "basedpyright", "--pythonpath", python, "-p", package])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    package, library, what = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    python = environment()
    if what == "make":
        run = make(python, package)
    elif what == "pytest":
        run = subprocess.run([python, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *sys.argv[4:]],
                             cwd=ROOT, env={**os.environ, "PYTHONPATH": str(package), "PROMPTCACHE_LIBRARY": library})
    elif what == "pyright":
        run = pyright(python, package)
    else:
        run = subprocess.run([python, "-m", "mypy", "--strict", "--cache-dir", os.devnull,
                              "--config-file", ROOT / "pyproject.toml", "-p", "promptcache"],
                             cwd=package, env={**os.environ, "MYPYPATH": str(package)})
    sys.exit(run.returncode)


if __name__ == "__main__":
    main()
