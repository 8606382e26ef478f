"""Sources of decoders: how the processes of a cluster get the decoder of a job.

A decoder is not sent to other processes, since a model may have gigabytes of rules. What is sent is
its source, which names the files, and from which every process opens the decoder once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.base.executor import Folder, Resources

if TYPE_CHECKING:
    from hopefear.decode.contract import Decoder


class DecoderSource(ABC):
    """A description of a decoder; one for a cluster can be pickled."""

    def files(self) -> Iterable[Path | Folder]:
        """Return the files that the decoder reads."""
        return ()

    @abstractmethod
    def open(self, resources: Resources) -> Decoder:
        """Return the decoder in this process, always the same one."""


class LocalDecoder(DecoderSource):
    """A decoder of this process."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder

    def open(self, resources: Resources) -> Decoder:
        return self.decoder

    def __reduce__(self) -> Any:
        raise TypeError(f"{self.decoder.title} cannot be sent to other processes")
