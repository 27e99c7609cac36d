"""The command of programs: compile FILE:NAME prints a program's schema."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import traceback
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

from .errors import ProgramError
from .programs import Program

__all__ = ["add_to"]


def add_to(commands: Any) -> None:
    """Adds `compile` to the commands of `python -m promptcache`."""
    parser = commands.add_parser(
        "compile",
        help="print the schema of a prompt program",
        description="Prints the PML of a prompt program. FILE is imported, so what stands in it runs; "
        "the program itself is compiled from its source and does not.",
    )
    parser.add_argument("program", metavar="FILE:NAME", help="a Python file, and the program in it")
    parser.set_defaults(run=_compile)


def _compile(arguments: argparse.Namespace) -> int:
    path, _, name = arguments.program.rpartition(":")
    if not path:
        print(f"promptcache: {arguments.program!r} is not FILE:NAME", file=sys.stderr)
        return 2
    found = vars(_imported(path))
    if not isinstance(found.get(name), Program):
        programs = ", ".join(sorted(n for n, v in found.items() if isinstance(v, Program))) or "none"
        print(f"promptcache: {path} has no program {name!r}; there are: {programs}", file=sys.stderr)
        return 1
    try:
        sys.stdout.write(found[name].schema())
    except ProgramError as error:
        sys.stderr.writelines(traceback.format_exception_only(type(error), error))
        return 1
    return 0


def _imported(path: str) -> ModuleType:
    """The module of a file, imported as Python runs it: what lies beside it can be imported, too."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} is no file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise FileNotFoundError(f"{path} is no Python file")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made
