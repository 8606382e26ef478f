"""The model directory: how it is trained, imported, and used to translate."""
