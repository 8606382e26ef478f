"""Completions of vLLM: responses of its OpenAI server, of `vllm run-batch`, or RequestOutputs.

    {"custom_id": "0", "response": {"body": {"choices": [{"index": 0, "text": "a house", …}, …]}}}
    {"choices": [{"message": {"content": "a house"}, "logprobs": {"content": [{"logprob": -1}]}}]}
    {"request_id": "0", "outputs": [{"text": "a house", "cumulative_logprob": -2.1, …}]}

The id is `custom_id`, `request_id`, or the number of the line. Features: `logprob` (the sum over
the tokens) and `tokens` where they are given, else `rank`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopefear.base.errors import InputError
from hopefear.base.registry import register
from hopefear.forest.io.lists.base import Entry, ListFormat, json_lines, member, number


@register("list-format", "vllm")
@dataclass(kw_only=True)
class Vllm(ListFormat):
    """Completions of vLLM, or of any server with OpenAI's interface."""

    def read(self, path: Path) -> Iterator[Entry]:
        for line, (place, value) in enumerate(json_lines(path)):
            id: Any = line
            if isinstance(value, dict):
                id = value.get("custom_id", value.get("request_id", line))
                error = value.get("error")
                if error:
                    raise InputError(f"{place}: the request failed: {error!r:.80}; repeat it")
                response = value.get("response")
                if isinstance(response, dict):
                    value = response.get("body", response)
            key = "outputs" if isinstance(value, dict) and "outputs" in value else "choices"
            choices = member(value, key, place)
            for rank, choice in enumerate(choices):
                features = _features(choice, place)
                yield {
                    "id": int(id) if str(id).isdigit() else str(id),
                    "text": " ".join(_text(choice, place).split()),
                    "features": features or {"rank": rank},
                }


def _text(choice: Any, place: str) -> str:
    if isinstance(choice, dict):
        message = choice.get("message")
        text = message.get("content") if isinstance(message, dict) else choice.get("text")
        if isinstance(text, str):
            return text
    raise InputError(f"{place}: a choice without text: {choice!r:.60}")


def _features(choice: dict[str, Any], place: str) -> dict[str, float]:
    if choice.get("cumulative_logprob") is not None:
        features = {"logprob": number(choice["cumulative_logprob"], place, "cumulative_logprob")}
        if isinstance(choice.get("token_ids"), list):
            features["tokens"] = len(choice["token_ids"])
        return features
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        return {}
    if isinstance(logprobs.get("content"), list):  # of chat
        values = [member(token, "logprob", place) for token in logprobs["content"]]
    else:
        values = [value for value in logprobs.get("token_logprobs") or [] if value is not None]
    if not values:
        return {}
    total = sum(number(value, place, "a log probability") for value in values)
    return {"logprob": total, "tokens": len(values)}
