"""Export of models to other systems: Moses, cdec and Joshua."""

from __future__ import annotations

from hopefear.model.exporting.directory import Format, export_model

__all__ = ["Format", "export_model"]
