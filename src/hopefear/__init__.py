"""Hopefear: statistical machine translation and the discriminative learning of its weights.

    import hopefear

    model = hopefear.train("train.fr", "train.en", model="fr-en")
    run = hopefear.tune(model, dev="dev.fr", refs=["dev.en"], tuner="mert", output="run")
    hopefear.translate(model, ["la maison"], weights=run.weights)

docs/guides/python.md describes the Python API; docs/concepts/overview.md follows one sentence pair
through all of it.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true; importing typing would take 20 ms
__version__ = "0.1.0"
__all__ = [
    "Forest",
    "Model",
    "Reranker",
    "Run",
    "Weights",
    "rerank",
    "score",
    "train",
    "translate",
    "tune",
]

_MODULES = {
    "Forest": "hopefear.forest",
    "Model": "hopefear.model.directory",
    "Reranker": "hopefear.learn.reranker",
    "Run": "hopefear.model.run",
    "Weights": "hopefear.base.weights",
}

if TYPE_CHECKING:
    from hopefear.api import rerank, score, train, translate, tune
    from hopefear.base.weights import Weights
    from hopefear.forest import Forest
    from hopefear.learn.reranker import Reranker
    from hopefear.model.directory import Model
    from hopefear.model.run import Run
else:

    def __getattr__(name: str) -> object:
        # Exports are imported on first use, which keeps `import hopefear` fast.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES.get(name, "hopefear.api")), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
