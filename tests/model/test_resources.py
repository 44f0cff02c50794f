"""What a pod's containers need together."""

import pytest
from tests.kit.pods import pod

from podherd.model.resources import pod_amounts, sum_of


def _one(name, cpu, **more):
    return {"name": name, "image": "a:1", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("init", "regular", "total"),
    [
        ([], ["1", "500m"], 1500),
        ([("3", None)], ["1"], 3000),
        ([("1", None), ("2", None)], ["1"], 2000),
        ([("1", "Always")], ["1"], 2000),
        ([("1", "Always"), ("3", None)], ["1"], 4000),
        ([("3", None), ("1", "Always")], ["1"], 3000),
        ([("3", "Never")], ["1"], 3000),
    ],
)
def test_init_containers_run_beside_the_sidecars_before_them_and_apps_beside_all_sidecars(init, regular, total):
    first = [_one(f"i{n}", cpu, **({"restartPolicy": own} if own else {})) for n, (cpu, own) in enumerate(init)]
    made = pod({"initContainers": first, "containers": [_one(f"c{n}", cpu) for n, cpu in enumerate(regular)]})
    assert sum_of(made.body["spec"], "requests") == pod_amounts(made, "requests") == {"cpu": total}


def test_resources_of_the_pod_itself_win_over_the_sum():
    made = pod({"containers": [_one("a", "1")], "resources": {"requests": {"cpu": "3", "memory": "1Ki"}}})
    assert pod_amounts(made, "requests") == {"cpu": 3000, "memory": 1024}
