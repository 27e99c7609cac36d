"""python -m promptcache COMMAND"""

from __future__ import annotations

import argparse
import sys
from typing import Optional, Sequence

from .errors import Error
from .library import commands as library_commands
from .program import commands as program_commands
from .ray import commands as ray_commands

# Each adds its parsers, whose `run` takes the parsed arguments and gives the exit status.
_COMMANDS = [
    library_commands.add_to,
    program_commands.add_to,
    ray_commands.add_to,
]


def main(given: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m promptcache")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_to in _COMMANDS:
        add_to(commands)
    arguments = parser.parse_args(given)
    try:
        status: int = arguments.run(arguments)
    except (Error, OSError) as error:
        print(f"promptcache: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
