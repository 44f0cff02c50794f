"""The comparison of a micro run with a baseline: ratios alone, noise allowed, a lost row is a regress."""

import json
from pathlib import Path
from typing import Any

import pytest

from podherd.benchmarks import compare
from podherd.benchmarks.micro import codec, relist, report
from podherd.benchmarks.micro.timing import Result, Sample, sample


def write(path: Path, **ratios: float) -> Path:
    rows: list[dict[str, Any]] = [
        {"name": name, "ratio": ratio, "median_ms": 1 / ratio} for name, ratio in ratios.items()
    ]
    path.write_text(json.dumps({"machine": {}, "results": rows}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("ratios", "code"),
    [
        ({"a": 100.0, "b": 0.5}, 0),
        ({"a": 66.0, "b": 0.33}, 0),
        ({"a": 500.0, "b": 5.0, "new": 1.0}, 0),
        ({"a": 64.0, "b": 0.5}, 1),
        ({"a": 100.0, "b": 0.3}, 1),
        ({"a": 100.0}, 1),
    ],
)
def test_a_ratio_may_fall_by_noise_and_no_more(ratios: dict[str, float], code: int, tmp_path: Path) -> None:
    baseline = write(tmp_path / "baseline.json", a=100.0, b=0.5)
    run = write(tmp_path / "run.json", **ratios)
    assert compare.main([str(run), str(baseline)]) == code


def test_the_regress_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline, run = write(tmp_path / "baseline.json", a=100.0), write(tmp_path / "run.json", a=10.0)
    compare.main([str(run), str(baseline)])
    assert capsys.readouterr().out == "REGRESS a: ratio 10.00, baseline 100.00, at least 65.00\n"


def test_a_file_that_cannot_be_read_is_its_own_exit_code(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    assert compare.main([str(tmp_path / "none.json")]) == 2
    assert compare.main([str(tmp_path / "bad.json"), str(tmp_path / "bad.json")]) == 2


def test_the_stored_baseline_holds_every_row_that_the_benchmarks_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relist, "PODS", 200)
    monkeypatch.setattr(relist, "RUNS", 2)
    monkeypatch.setattr(relist, "FALLBACK_RUNS", 2)
    monkeypatch.setattr(codec, "RUNS", 2)
    made = {result.name for result in (*relist.results(), *codec.results())}
    assert made == set(compare.load(compare.BASELINE))


def result(median_ms: float, reference_ms: float) -> Result:
    return Result("row", Sample(median_ms, 1.0, 1.0, 5), "reference", reference_ms, limit_ms=3.0, least_ratio=30.0)


def test_a_row_passes_within_both_targets_only() -> None:
    assert result(3.0, 30.0).passed
    assert not result(3.1, 30.0).passed
    assert not result(3.0, 29.0).passed


def test_the_report_says_pass_or_miss_and_writes_what_compare_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "micro.json"
    monkeypatch.setattr("sys.argv", ["micro", "--json", str(out)])
    assert report.main("rows", lambda: [result(2.0, 40.0)]) == 0
    assert report.main("rows", lambda: [result(9.0, 40.0)]) == 1
    said = capsys.readouterr().out
    assert "<= 3 ms, >= 30x: pass" in said
    assert "<= 3 ms, >= 30x: MISS" in said
    assert compare.load(out)["row"]["ratio"] == 40.0
    assert set(json.loads(out.read_text())["machine"]) == {"cpu", "cores", "python"}


def test_sample_times_every_run_but_the_warm_ups() -> None:
    turns: list[int] = []
    taken = sample(turns.append, runs=3, warm_ups=2)
    assert turns == [0, 1, 2, 3, 4]
    assert taken.runs == 3
    assert 0 <= taken.min_ms <= taken.median_ms
