"""Node selectors, required affinity and tolerations, as component-helpers reads them."""

import pytest

from podherd.machines.admission.selectors import matches_node, tolerates
from podherd.wire.node import Taint

LABELS = {"zone": "a", "cores": "8", "word": "x"}


def _required(*terms):
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": list(terms)}}}}  # fmt: skip


def _expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        (_expression("zone", "In", "a", "b"), True),
        (_expression("zone", "In", "b"), False),
        (_expression("none", "In", "b"), False),
        (_expression("zone", "NotIn", "b"), True),
        (_expression("none", "NotIn", "b"), True),
        (_expression("zone", "NotIn", "a"), False),
        (_expression("zone", "Exists"), True),
        (_expression("none", "Exists"), False),
        (_expression("none", "DoesNotExist"), True),
        (_expression("zone", "DoesNotExist"), False),
        (_expression("cores", "Gt", "7"), True),
        (_expression("cores", "Gt", "8"), False),
        (_expression("cores", "Lt", "9"), True),
        (_expression("word", "Lt", "9"), False),
        (_expression("none", "Gt", "1"), False),
        (_expression("zone", "Like", "a"), False),
        ({}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}, True),
        ({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["n1"]}]}, False),
        ({**_expression("zone", "In", "b"), "matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, False),
    ],
)  # fmt: skip
def test_a_term_matches_when_all_of_it_does(term, matches):
    assert matches_node(_required(term), "n1", LABELS) is matches


def test_one_of_several_terms_is_enough_and_none_is_not():
    assert matches_node(_required(_expression("zone", "In", "b"), _expression("zone", "In", "a")), "n1", LABELS)
    assert not matches_node(_required(), "n1", LABELS)
    assert matches_node({"affinity": {"podAffinity": {}}}, "n1", LABELS)
    assert not matches_node({"nodeSelector": {"zone": "b"}, **_required(_expression("zone", "Exists"))}, "n1", LABELS)


@pytest.mark.parametrize(
    ("toleration", "is_for"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "j", "operator": "Exists"}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Gt", "value": "v"}, False),
    ],
)
def test_a_toleration_is_for_a_taint_by_key_value_and_effect(toleration, is_for):
    assert tolerates([toleration], Taint("k", "v", "NoExecute")) is is_for
