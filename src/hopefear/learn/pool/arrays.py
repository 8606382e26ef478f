"""Reading the arrays of checkpoint files (.npz), with errors for damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike


def damaged(path: PathLike, what: str, why: object) -> InputError:
    """Return an error for a checkpoint file that is not `what` it should be."""
    reason = in_line(why) or type(why).__name__
    return InputError(f"{path}: not {what} ({reason}); tune again in a new directory")


def load_arrays(path: PathLike, what: str) -> dict[str, NDArray[Any]]:
    """Return all arrays of a file by name; `what` describes the file in errors."""
    try:
        # Opened here because numpy does not close a file that is not an .npz.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as saved:
            return {name: saved[name] for name in saved.files}
    except OSError:
        raise
    except Exception as error:  # zip, zlib, struct and numpy raise a dozen kinds
        raise damaged(path, what, error) from None
