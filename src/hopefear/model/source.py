"""The files of a model and its decoder, as the processes of a cluster open them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.executor import Folder, Resources
from hopefear.decode.contract import Decoder
from hopefear.decode.source import DecoderSource
from hopefear.model.directory import Model


@dataclass(frozen=True)
class ModelDecoder(DecoderSource):
    """The decoder of a model directory: the arguments of `Model.decoder`."""

    folder: Folder  # `Model.files`
    options: Mapping[str, Any]
    templates: Mapping[str, Mapping[str, Any]]
    folds: bool = False
    slot: str = "decoder"  # a process keeps one decoder of each slot

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        options: Mapping[str, Any] | None = None,
        templates: Mapping[str, Mapping[str, Any]] | None = None,
        folds: bool = False,
        slot: str = "decoder",
    ) -> ModelDecoder:
        """Describe `model.decoder(templates=templates, folds=folds, **options)`."""
        chosen = model.templates if templates is None else templates
        return cls(model.files(folds=folds), dict(options or {}), chosen, folds, slot)

    def files(self) -> Iterable[Path | Folder]:
        return (self.folder,)

    def open(self, resources: Resources) -> Decoder:
        directory = resources.path(self.folder.root)
        key = json.dumps([str(directory), self.options, self.templates, self.folds], default=str)
        return resources.only(self.slot, key, lambda: self._open(directory))

    def _open(self, directory: Path) -> Decoder:
        model = Model.load(directory)
        return model.decoder(templates=self.templates, folds=self.folds, **self.options)
