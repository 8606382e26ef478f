"""`hopefear cluster-check` on a cluster of three nodes and on addresses without one."""

from __future__ import annotations

import dataclasses
import http.server
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopefear.base.cluster import check as checking
from hopefear.base.cluster import connect
from hopefear.base.cluster.check import check
from hopefear.base.errors import HopefearError, OptionError

Run = Callable[..., Any]


def test_all_is_well(machines: Any, tmp_path: Path) -> None:
    from hopefear.base.cluster.worker import versions

    # Ray may not have noticed yet that a machine died in an earlier test.
    limit = time.monotonic() + 30
    while (report := check(machines.address, tmp_path / "copies")).problems:
        assert time.monotonic() < limit, report.problems
    assert len(report.machines) == 3
    assert [machine.workers for machine in report.machines] == [1, 1, 1]
    assert all(machine.versions == versions() for machine in report.machines)
    assert report.notes == [f"all machines share {tmp_path / 'copies'}; files are copied once"]
    assert list((tmp_path / "copies").iterdir()) == []


def test_files_that_machines_do_not_see(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = check(machines.address)
    assert report.problems == []
    assert report.notes == [f"all machines share {tmp_path}"]
    # A path that leads to another folder in each process.
    monkeypatch.setattr(checking.Path, "cwd", lambda: Path("/proc/self/cwd"))
    problems = check(machines.address).problems
    assert len(problems) == 3
    assert all("does not see the files in /proc/self/cwd" in problem for problem in problems)
    assert list(tmp_path.iterdir()) == []


def test_a_shared_folder_that_is_none(machines: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    problems = check(machines.address, tmp_path / "file" / "copies").problems
    assert len(problems) == 3
    assert all(problem.endswith("copies: Not a directory") for problem in problems)


def test_other_versions_builds_and_little_memory(
    machines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hopefear.base.cluster import worker

    monkeypatch.setattr(worker, "build_digest", lambda: "0")
    monkeypatch.setattr(checking, "LEAST_MEMORY", 1 << 60)
    problems = check(machines.address).problems
    assert len([p for p in problems if "another build of hopefear" in p]) == 3
    assert len([p for p in problems if "MB of free memory" in p]) == 3
    monkeypatch.undo()
    there = {**worker.versions(), "numpy": "1.0"}
    monkeypatch.setattr(worker, "versions", lambda: there)
    problems = check(machines.address).problems
    assert len([p for p in problems if "but 1.0 on the machine of the command" in p]) == 3


def test_versions_of_a_machine_are_compared() -> None:
    from hopefear.base.cluster.worker import Host, versions

    host = Host("n", "m", "a", 4, 1 << 40, versions())
    assert list(host.differences(versions(), "a")) == []
    (build,) = host.differences(versions(), "b")
    assert "another build" in build
    other = dataclasses.replace(host, versions={**versions(), "hopefear": "9", "Python": "2.7"})
    assert [text.split(",")[0] for text in other.differences(versions(), "b")] == [
        "Python 2.7",
        "hopefear 9",
    ]


def test_the_command(machines: Any, hopefear: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = hopefear("cluster-check", machines.address, env={"RAY_AUTH_MODE": "disabled"})
    assert done.returncode == 0, done.stderr + done.stdout
    assert "commands can run there" in done.stdout
    assert "Ray" not in done.stderr


def test_wrong_addresses_fail_soon(hopefear: Run) -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    web = f"127.0.0.1:{server.server_address[1]}"
    try:
        for address, text in (
            ("127.0.0.1:9", "nothing answers there"),
            (web, "not Ray"),
            ("nowhere.invalid:6379", "nothing answers there"),
            ("10.0.0.1", "expected auto, or HOST:PORT"),
            ("", "expected auto, or HOST:PORT"),
            ("ray://127.0.0.1:10001", "expected auto, or HOST:PORT"),
        ):
            begin = time.monotonic()
            done = hopefear("cluster-check", address, "--json")
            assert done.returncode == 2
            (problem,) = json.loads(done.stdout)["problems"]
            assert problem.startswith(f"{address}: ")
            assert text in problem
            assert time.monotonic() - begin < 10
    finally:
        server.shutdown()
        server.server_close()


def test_a_machine_that_is_not_there_is_not_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: Any) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(connect.socket, "create_connection", wait)
    with pytest.raises(OptionError, match=r"nothing answers there \(timed out\)"):
        connect.check_address("192.0.2.77:6379")


def test_a_service_that_never_answers_is_not_waited_for() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(OptionError, match="not Ray"):
            connect.check_address(address)
        assert time.monotonic() - begin < 10


def test_the_running_cluster(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert connect.running_address() == ""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:9")  # it has ended
    assert connect.running_address() == ""
    (tmp_path / "ray" / "ray_current_cluster").write_text(machines.address)
    assert connect.running_address() == machines.address
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert connect.running_address() == "10.0.0.1:6379"


def test_the_end_of_a_cluster_is_noticed(machines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = connect.load_ray()
    heartbeat = connect.Heartbeat(ray)
    monkeypatch.setattr(heartbeat, "_EVERY", 0.0)
    heartbeat.check()
    monkeypatch.setattr(heartbeat, "_head", "127.0.0.1:9")
    heartbeat.check()  # it may come back
    monkeypatch.setattr(heartbeat, "_LONGEST", 0.0)
    with pytest.raises(HopefearError, match=r"the machine that started it is gone.*--resume"):
        heartbeat.check()
    monkeypatch.setattr(heartbeat, "_socket", "/tmp/no-such-socket")
    with pytest.raises(HopefearError, match="Ray has ended on this machine"):
        heartbeat.check()


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    (problem,) = check("auto").problems
    assert "needs Ray" in problem
    assert "pip install 'hopefear[cluster]'" in problem
