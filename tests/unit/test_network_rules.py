"""What the cluster tests make of NetworkPolicies is what Kubernetes says that they are."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from cluster import policies

SERVER = 6443
NETWORK = "10.0.0.0/16"


def pod(name: str, address: str, namespace: str = "jobs", **labels: str) -> dict[str, Any]:
    ports = [{"name": "http", "containerPort": 8080}]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"ports": ports}]},
        "status": {"podIP": address, "phase": "Running"},
    }


A, B = pod("a", "10.0.0.1", app="a"), pod("b", "10.0.0.2", app="b")
ELSEWHERE = pod("c", "10.0.0.3", "other", app="a")
PODS = (A, B, ELSEWHERE)
NAMESPACES = [{"metadata": {"name": name, "labels": {"name": name}}} for name in ("jobs", "other")]


def policy(selector: dict[str, Any], namespace: str = "jobs", **spec: Any) -> dict[str, Any]:
    types = [direction for direction in ("Ingress", "Egress") if direction.lower() in spec]
    spec = {key: value for key, value in spec.items() if value is not None}
    return {"metadata": {"namespace": namespace}, "spec": {"podSelector": selector, "policyTypes": types, **spec}}


def reaches(
    source: str, target: str, port: int, *given: dict[str, Any], pods: tuple[dict[str, Any], ...] = PODS
) -> bool:
    """As iptables reads the rules, for the first packet of a connection over TCP."""
    chains: dict[str, list[str]] = {}
    for line in policies.rules(pods, NAMESPACES, given, NETWORK).splitlines():
        if line.startswith("-A "):
            _, chain, rule = line.split(" ", 2)
            chains.setdefault(chain, []).append(rule)

    def passes(chain: str) -> bool:
        for rule in chains.get(chain, []):
            words = rule.split()
            options = dict(zip(words[::2], words[1::2], strict=True))
            if "--ctstate" in options or not _meant(options):
                continue
            if options["-j"] == "RETURN":
                return True
            if options["-j"] == "REJECT" or not passes(options["-j"]):
                return False
        return True

    def _meant(options: dict[str, str]) -> bool:
        first, _, last = options.get("--dport", f"{port}").partition(":")
        return (
            all(
                ipaddress.ip_address(address) in ipaddress.ip_network(options.get(option, "0.0.0.0/0"))
                for option, address in (("-s", source), ("-d", target))
            )
            and options.get("-p", "tcp") == "tcp"
            and int(first) <= port <= int(last or first)
        )

    return passes(policies.CHAIN)


def test_without_policies_everybody_reaches_everybody() -> None:
    assert reaches("10.0.0.1", "10.0.0.2", 80)


def test_who_is_selected_lets_in_only_whom_a_policy_names() -> None:
    own = policy({"matchLabels": {"app": "b"}}, ingress=[{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}]}])

    assert reaches("10.0.0.1", "10.0.0.2", 80, own)
    assert not reaches("10.0.0.3", "10.0.0.2", 80, own), "alike, but of another namespace"
    assert not reaches("172.18.0.1", "10.0.0.2", 80, own)
    assert reaches("10.0.0.2", "10.0.0.1", 80, own), "it reaches whom it likes, and others are free"


def test_nobody_is_let_in_or_out_by_a_policy_that_allows_nothing() -> None:
    closed = policy({}, ingress=[], egress=[])

    assert not reaches("10.0.0.1", "10.0.0.2", 80, closed)
    assert not reaches("10.0.0.1", "172.18.0.2", SERVER, closed)
    assert reaches("10.0.0.3", "172.18.0.2", SERVER, closed)


def test_policies_are_added_up() -> None:
    closed, open_ = policy({}, ingress=[]), policy({"matchLabels": {"app": "b"}}, ingress=[{}])

    assert reaches("10.0.0.3", "10.0.0.2", 80, closed, open_)
    assert not reaches("10.0.0.3", "10.0.0.1", 80, closed, open_)


def test_both_sides_have_to_allow_it() -> None:
    out = policy({"matchLabels": {"app": "a"}}, egress=[{"ports": [{"port": 80}]}])
    into = policy({"matchLabels": {"app": "b"}}, ingress=[{"ports": [{"port": 81, "endPort": 90}]}])

    assert reaches("10.0.0.1", "10.0.0.2", 80, out)
    assert reaches("10.0.0.2", "10.0.0.2", 85, into)
    assert not reaches("10.0.0.1", "10.0.0.2", 80, out, into)
    assert not reaches("10.0.0.1", "10.0.0.2", 85, out, into)


def test_ports_have_the_names_of_whose_they_are() -> None:
    into = policy({"matchLabels": {"app": "b"}}, ingress=[{"ports": [{"port": "http"}]}])
    out = policy({}, egress=[{"to": [{"podSelector": {}}], "ports": [{"port": "http"}]}])

    assert reaches("10.0.0.1", "10.0.0.2", 8080, into, out)
    assert not reaches("10.0.0.1", "10.0.0.2", 8081, into)
    assert not reaches("10.0.0.1", "10.0.0.2", 8081, out)


@pytest.mark.parametrize(
    ("selector", "reached"),
    [
        ({"matchExpressions": [{"key": "name", "operator": "In", "values": ["other"]}]}, True),
        ({"matchExpressions": [{"key": "name", "operator": "NotIn", "values": ["other"]}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, True),
        ({}, True),
    ],
)
def test_namespaces_are_chosen_by_their_labels(selector: dict[str, Any], *, reached: bool) -> None:
    own = policy(
        {}, ingress=[{"from": [{"namespaceSelector": selector, "podSelector": {"matchLabels": {"app": "a"}}}]}]
    )

    assert reaches("10.0.0.3", "10.0.0.2", 80, own) is reached


def test_blocks_have_holes() -> None:
    block = {"cidr": "172.18.0.0/24", "except": ["172.18.0.2/32"]}
    out = policy({}, egress=[{"to": [{"ipBlock": block}]}])

    assert reaches("10.0.0.1", "172.18.0.3", SERVER, out)
    assert not reaches("10.0.0.1", "172.18.0.2", SERVER, out)


def test_pods_without_an_address_of_their_own_are_left_out() -> None:
    ended, hosts = pod("d", "10.0.0.4", app="d"), pod("e", "172.18.0.2", app="d")
    ended["status"]["phase"], hosts["spec"]["hostNetwork"] = "Failed", True
    closed = policy({"matchLabels": {"app": "d"}}, ingress=[])

    assert reaches("10.0.0.1", "10.0.0.4", 80, closed, pods=(A, ended, hosts))
    assert reaches("10.0.0.1", "172.18.0.2", SERVER, closed, pods=(A, ended, hosts))


def test_a_pod_that_nobody_has_heard_of_is_refused_while_it_may_be_one_of_those_who_are() -> None:
    everybody, some = policy({}, egress=[]), policy({"matchLabels": {"app": "a"}}, egress=[])

    assert not reaches("10.0.0.9", "172.18.0.2", SERVER, everybody)
    assert not reaches("10.0.0.3", "10.0.0.9", 80, everybody)
    assert reaches("10.0.0.3", "172.18.0.2", SERVER, everybody), "of another namespace, and known"
    assert reaches("172.18.0.1", "10.0.0.3", 80, everybody)
    assert reaches("10.0.0.9", "172.18.0.2", SERVER, some), "what it is then holds as soon as it is known"


def test_every_chain_that_is_gone_to_is_made() -> None:
    made, gone = set[str](), set[str]()
    for line in policies.rules(PODS, NAMESPACES, [policy({}, ingress=[], egress=[])], NETWORK).splitlines():
        if line.startswith(":"):
            made.add(line[1:].split()[0])
        elif line.startswith("-A "):
            gone |= {line.split()[1], line.split()[-1]} - {"RETURN", "REJECT"}
    assert gone == made
