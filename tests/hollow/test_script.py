"""Actions, rules and marks, and the errors that a wrong one gets."""

from pathlib import Path
from typing import Any

import pytest

from podherd.errors import ConfigError
from podherd.hollow.behaviour import UNSCRIPTED, behaviour_of
from podherd.hollow.script import Subject, load, marks_of, parse

WEB = Subject("default", "web-1", "app", "registry.local/busybox:1")


def test_nothing_scripted_stays_and_ends_143_on_term() -> None:
    assert UNSCRIPTED.exit_delay_s(0) is None
    assert (UNSCRIPTED.ignore_term, UNSCRIPTED.term_exit_code) == (False, 143)


@pytest.mark.parametrize(
    ("actions", "attempt", "delay_s", "exit_with"),
    [
        ({"exit-after": "2.5"}, 0, 2.5, (0, "")),
        ({"exit-after": "2.5s", "exit-code": "3"}, 9, 2.5, (3, "")),
        ({"exit-code": "1"}, 0, 0.0, (1, "")),
        ({"exits": "2", "exit-code": "1"}, 1, 0.0, (1, "")),
        ({"exits": "2", "exit-code": "1"}, 2, None, (1, "")),
        ({"oom": "true"}, 0, 0.0, (137, "OOMKilled")),
    ],
)
def test_own_exit(actions: dict[str, str], attempt: int, delay_s: float | None, exit_with: tuple[int, str]) -> None:
    behaviour = behaviour_of("test", actions)
    assert behaviour.exit_delay_s(attempt) == delay_s
    assert behaviour.own_exit() == exit_with


def test_stop_says_how_term_is_taken() -> None:
    assert behaviour_of("test", {"stop": "ignore-term"}).ignore_term
    assert behaviour_of("test", {"stop": "exit:0"}).term_exit_code == 0


@pytest.mark.parametrize(
    ("action", "value", "said"),
    [
        ("exit-afte", "1", "did you mean exit-after?"),
        ("exit-after", "soon", "exit-after: 'soon' is not a value"),
        ("exit-after", "-1", "not a time of 0 s or more"),
        ("exit-code", "256", "not an exit code"),
        ("oom", "perhaps", "neither true nor false"),
        ("stop", "later", "neither ignore-term nor exit:CODE"),
        ("error-code", "NOPE", "not one of CANCELLED"),
        ("ip", "ten", "not a value"),
    ],
)
def test_a_wrong_action_names_place_action_and_reason(action: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        behaviour_of("pod web", {action: value})
    assert said in str(caught.value)
    assert caught.value.thing == "pod web"


def test_later_rules_win_and_marks_win_over_rules() -> None:
    script = parse(
        "s",
        {
            "rules": [
                {"match": {"pod": "web-*"}, "actions": {"exit-code": 1, "exit-after": 9}},
                {"match": {"image": "*busybox*"}, "actions": {"exit-code": 2}},
                {"match": {"namespace": "other"}, "actions": {"exit-code": 3}},
            ]
        },
    )
    assert script.behaviour(WEB).exit_code == 2
    settled = script.behaviour(WEB, {"exit-code": "4"}, {"exit-code": "5"})
    assert (settled.exit_code, settled.exit_after_s) == (5, 9.0)


@pytest.mark.parametrize("separator", [".", "/"])
def test_a_pods_mark_may_speak_of_one_container(separator: str) -> None:
    own = marks_of({f"hollow.podherd.io/exit-code{separator}app": "7", "hollow.podherd.io/exit-code": "1", "x": "y"})
    script = parse("s", {})
    assert script.behaviour(WEB, own).exit_code == 7
    assert script.behaviour(WEB._replace(container="side"), own).exit_code == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "is list, not a mapping"),
        ({"rule": []}, "unknown field 'rule'"),
        ({"rules": {}}, "rules: is dict, not a list"),
        ({"rules": [{"match": {"node": "x"}, "actions": {"oom": True}}]}, "rules[0].match: unknown field 'node'"),
        ({"rules": [{"match": {}}]}, "rules[0].actions: is not a mapping of actions"),
        ({"rules": [{"actions": {"exits": "x"}}]}, "rules[0].actions: exits: 'x' is not a value"),
        ({"faults": [{"method": "X"}]}, "faults[0]: does nothing"),
        ({"faults": [{"code": "TEAPOT"}]}, "no gRPC code"),
        ({"faults": [{"cod": "UNKNOWN"}]}, "unknown field 'cod'"),
        ({"faults": [{"delay": "long"}]}, "delay or times"),
        ({"faults": [{"delay": 1, "when": "never"}]}, "neither before nor after"),
    ],
)
def test_a_wrong_script_names_the_place(data: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse("script.yaml", data)
    assert said in str(caught.value)
    assert caught.value.thing.startswith("script.yaml")


def test_a_file_that_cannot_be_read_or_is_no_yaml_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("rules: [")
    with pytest.raises(ConfigError, match="is not YAML"):
        load(broken)
    broken.write_text("")
    assert load(broken).rules == ()
