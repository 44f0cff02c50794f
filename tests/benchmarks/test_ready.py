"""`podherd bench ready`: which moment counts as Ready, what the times come to, what the file and the exit code say."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.kit import kubelet

from podherd.benchmarks import compare
from podherd.benchmarks.node import ready, ready_report
from podherd.errors import ApiError
from podherd.kube.door import Dropped, Listed, Put

TOKEN, NO_TOKEN = ready.KINDS


def version(name: str, ready_is: str | None) -> dict[str, Any]:
    conditions = [{"type": "ContainersReady", "status": "True"}]
    if ready_is is not None:
        conditions.append({"type": "Ready", "status": ready_is})
    return {"metadata": {"name": name}, "status": {"conditions": conditions}}


async def test_the_first_version_that_is_ready_gives_the_time() -> None:
    seen = ready.Follower()
    seen.hear(Listed([]), 1.0)
    seen.hear(Put({"metadata": {"name": "a"}}), 2.0)
    seen.hear(Put(version("a", None)), 3.0)
    seen.hear(Put(version("a", "False")), 4.0)
    assert "a" not in seen.ready_at
    seen.hear(Put(version("a", "True")), 5.0)
    seen.hear(Put(version("a", "True")), 6.0)
    assert await seen.ready("a") == 5.0


async def test_a_pod_is_gone_when_the_watch_says_so_or_a_new_list_lacks_it() -> None:
    seen = ready.Follower()
    seen.hear(Listed([version("a", None), version("b", None), version("c", None)]), 1.0)
    seen.hear(Dropped(version("a", None)), 2.0)
    await seen.gone("a")
    assert seen.here == {"b", "c"}
    seen.hear(Listed([version("c", None)]), 3.0)
    await seen.gone("b")
    assert seen.here == {"c"}


def test_a_pod_mounts_its_token_unless_told_not_to() -> None:
    with_token, without = (ready.pod_of("a", "n", "image", ready.KINDS[kind]) for kind in (TOKEN, NO_TOKEN))
    assert "automountServiceAccountToken" not in with_token["spec"]
    assert without["spec"].pop("automountServiceAccountToken") is False
    assert without == with_token


@pytest.mark.parametrize(
    ("times_s", "median_s", "p90_s"),
    [
        ([0.5], 0.5, 0.5),
        ([0.4, 0.2], 0.3, 0.4),
        ([float(number) for number in range(10, 0, -1)], 5.5, 9.0),
        ([float(number) for number in range(1, 21)], 10.5, 18.0),
    ],
)
def test_median_and_p90(times_s: list[float], median_s: float, p90_s: float) -> None:
    found = ready_report.figures(times_s)
    assert (found.pods, found.median_s, found.p90_s) == (len(times_s), pytest.approx(median_s), p90_s)
    assert (found.least_s, found.most_s) == (min(times_s), max(times_s))


def kinds(podherd_s: float, kubelet_s: float = 0.2) -> dict[str, dict[str, list[float]]]:
    return {
        TOKEN: {"podherd": [0.2] * 3, "kubelet": [0.5] * 3},
        NO_TOKEN: {"podherd": [podherd_s], "kubelet": [kubelet_s]},
    }


def test_every_kind_must_keep_the_target() -> None:
    assert ready_report.passed(kinds(0.2199))
    assert not ready_report.passed(kinds(0.2201))


def test_the_file_is_one_that_compare_reads_and_in_which_slower_is_a_regress(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("baseline.json", "near.json", "slow.json")]
    for file, podherd_s in zip(files, (0.2, 0.21, 0.4), strict=True):
        file.write_text(json.dumps(ready_report.as_json(kinds(podherd_s), {"cores": 2})), encoding="utf-8")
    baseline, near, slow = files
    row = compare.load(baseline)[f"creation to Ready: {TOKEN}"]
    assert (row["median_ms"], row["reference_median_ms"], row["ratio"], row["runs"]) == (200.0, 500.0, 2.5, 3)
    assert compare.main([str(near), str(baseline)]) == 0
    assert compare.main([str(slow), str(baseline)]) == 1


def test_the_stored_baseline_keeps_the_target_with_every_kind_of_pod() -> None:
    rows = compare.load(compare.BASELINE.with_name("ready.json"))
    assert set(rows) == {f"creation to Ready: {kind}" for kind in ready.KINDS}
    assert all(row["passed"] and row["runs"] >= 20 for row in rows.values())


def run(monkeypatch: pytest.MonkeyPatch, out: Path, outcome: Any) -> tuple[int, str]:
    async def measure(_course: ready.Course) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(ready, "measure", measure)
    console = Console(record=True, width=120)
    return ready.run(ready.Course(Path("none"), ["podherd", "kubelet"]), out, console, {"kubelet": "v1"}), (
        console.export_text()
    )


def test_the_exit_code_tells_whether_the_target_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "ready.json"
    code, said = run(monkeypatch, out, kinds(0.2))
    assert (code, "median: pass" in said) == (0, True)
    assert json.loads(out.read_text())["machine"]["kubelet"] == "v1"
    code, said = run(monkeypatch, out, kinds(0.3))
    assert (code, "median: MISS" in said) == (1, True)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [(TimeoutError(), "did not become Ready in time"), (ApiError("API server", 0, "", "no answer"), "no answer")],
)
def test_trouble_is_told_and_no_file_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trouble: Exception, words: str
) -> None:
    code, said = run(monkeypatch, tmp_path / "ready.json", trouble)
    assert (code, words in said) == (1, True)
    assert not (tmp_path / "ready.json").exists()


def test_the_kubelet_is_the_one_given_else_the_variables_else_the_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given, named, on_path = (tmp_path / name / "kubelet" for name in ("given", "named", "path"))
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.delenv(kubelet.VARIABLE, raising=False)
    assert kubelet.find() == ""
    for program in (given, named, on_path):
        program.parent.mkdir()
        program.touch(0o755)
    assert kubelet.find() == str(on_path)
    monkeypatch.setenv(kubelet.VARIABLE, str(named))
    assert kubelet.find() == str(named)
    assert kubelet.find(str(given)) == str(given)
    assert kubelet.find(str(tmp_path / "none")) == ""


def test_a_cgroup_of_its_own_is_in_the_one_hierarchy_or_in_each(tmp_path: Path) -> None:
    for controller in ("cpu", "memory"):
        (tmp_path / controller).mkdir()
    (tmp_path / "cpu,cpuacct").symlink_to("cpu")
    assert kubelet.cgroup_places("own", tmp_path) == [tmp_path / "cpu" / "own", tmp_path / "memory" / "own"]
    (tmp_path / "cgroup.controllers").touch()
    assert kubelet.cgroup_places("own", tmp_path) == [tmp_path / "own"]
