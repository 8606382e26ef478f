"""The cores that a process may use."""

from __future__ import annotations

import os

import pytest

from hopefear.threads import all_cores


def test_a_bound_process_uses_only_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert all_cores() == 3


def test_where_binding_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert all_cores() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert all_cores() == 1
