"""Import of models of other systems: Moses and cdec."""

from __future__ import annotations

from hopefear.model.importing.directory import Imported, import_model

__all__ = ["Imported", "import_model"]
