"""The command line: one file per subcommand, run by `main.py`.

A command is a dataclass whose fields are its options, registered under its name, with a `run`
method that returns its report; `command.py` is the contract.
"""

from hopefear.cli.main import main

__all__ = ["main"]
