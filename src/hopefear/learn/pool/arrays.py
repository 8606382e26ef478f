"""Arrays of a checkpoint: an .npz file in, its arrays out, or one line on what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopefear.base.errors import InputError, in_line
from hopefear.base.files import PathLike


def damaged(path: PathLike, what: str, why: object) -> InputError:
    """A file of the checkpoint is not what it should be."""
    reason = in_line(why) or type(why).__name__
    return InputError(f"{path}: not {what} ({reason}); tune again in a new directory")


def load_arrays(path: PathLike, what: str) -> dict[str, NDArray[Any]]:
    """All arrays of a file, by their names; `what` it should be, for messages."""
    try:
        # Opened here: numpy leaves a file open that is none of its own.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as saved:
            return {name: saved[name] for name in saved.files}
    except OSError:
        raise
    except Exception as error:  # zip, zlib, struct and numpy raise a dozen kinds
        raise damaged(path, what, error) from None
