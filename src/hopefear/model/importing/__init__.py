"""Models of other systems: their configuration and tables in, a model directory out."""

from __future__ import annotations

from hopefear.model.importing.directory import Imported, import_model

__all__ = ["Imported", "import_model"]
