"""The command line: one file per sub-command, `main.py` runs them.

A command is a dataclass (its fields are its options) registered under its name, with a `run`
method that returns what it has to report; `command.py` is the contract.
"""

from hopefear.cli.main import main

__all__ = ["main"]
