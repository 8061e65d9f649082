"""What NetworkPolicies forbid, as rules of iptables: for a node whose network takes policies, and enforces none.

    rules(pods, namespaces, policies, network)     what `iptables-restore --noflush` is given

As Kubernetes defines it: a pod that a policy of a direction selects is reached, or reaches others, only as some policy
of it allows; all others are free. What belongs to a connection that is there goes on. A pod's own node always reaches
it, because kubelets ask probes.

A pod runs for about a second before the API server tells its address. While a policy selects all pods of a namespace,
it may be one of them, so an address of the pods' network that nobody is known to have is refused until then.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]

CHAIN = "E2E-POLICIES"
STRANGERS = f"{CHAIN}-STRANGERS"
INGRESS, EGRESS = "Ingress", "Egress"
_ALLOWED, _REFUSED = "-j RETURN", "-j REJECT"
_NOBODY = ("Succeeded", "Failed")


def rules(pods: Iterable[Object], namespaces: Iterable[Object], policies: Iterable[Object], network: str) -> str:
    """All of them; a chain for each pod and direction that something selects, and one for addresses nobody has yet."""
    there = [pod for pod in pods if _has_address(pod)]
    labels = {one["metadata"]["name"]: one["metadata"].get("labels", {}) for one in namespaces}
    known, chains, jumps = _World(there, labels), list[str](), list[str]()
    given = list(policies)
    for pod in there:
        for direction, option in ((EGRESS, "-s"), (INGRESS, "-d")):
            selecting = [policy for policy in given if _selects(policy, pod, direction)]
            if selecting:
                chain = f"{CHAIN}-{len(jumps)}"
                jumps.append(f"-A {CHAIN} {option} {_address(pod)} -j {chain}")
                chains += [f"-A {chain} {rule}" for rule in known.allowed(pod, selecting, direction)]
                chains.append(f"-A {chain} {_REFUSED}")
    if any(not policy["spec"].get("podSelector") for policy in given):
        jumps = [f"-A {CHAIN} {option} {network} -j {STRANGERS}{option}" for option in ("-s", "-d")] + jumps
        for option in ("-s", "-d"):
            chains += [f"-A {STRANGERS}{option} {option} {_address(pod)} {_ALLOWED}" for pod in there]
            chains.append(f"-A {STRANGERS}{option} {_REFUSED}")
    names = [f":{name} - [0:0]" for name in [CHAIN, *dict.fromkeys(rule.split()[1] for rule in chains)]]
    going_on = f"-A {CHAIN} -m conntrack --ctstate ESTABLISHED,RELATED {_ALLOWED}"
    return "\n".join(["*filter", *names, going_on, *jumps, *chains, "COMMIT", ""])


class _World:
    """Who there is."""

    def __init__(self, pods: Sequence[Object], namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._pods, self._namespaces = pods, namespaces

    def allowed(self, pod: Object, policies: Iterable[Object], direction: str) -> Iterator[str]:
        """What policies allow a pod in a direction, each once."""
        peers, side = ("from", "-s") if direction == INGRESS else ("to", "-d")
        found = dict[str, None]()
        for policy in policies:
            for rule in policy["spec"].get(direction.lower()) or []:
                for address, peer in self._peers(policy, rule.get(peers)):
                    owner = pod if direction == INGRESS else peer
                    for port in _ports(rule.get("ports"), owner):
                        found[" ".join(word for word in (f"{side} {address}" if address else "", port) if word)] = None
        yield from (f"{one} {_ALLOWED}" if one else _ALLOWED for one in found)

    def _peers(self, policy: Object, peers: Sequence[Object] | None) -> Iterator[tuple[str, Object | None]]:
        """Their addresses, and the pods that have them; one without address stands for everybody."""
        if not peers:
            yield "", None
            return
        for peer in peers:
            if "ipBlock" in peer:
                yield from ((str(block), None) for block in _blocks(peer["ipBlock"]))
                continue
            for pod in self._pods:
                if self._is_meant(policy, peer, pod):
                    yield _address(pod), pod

    def _is_meant(self, policy: Object, peer: Object, pod: Object) -> bool:
        own, where = policy["metadata"]["namespace"], pod["metadata"]["namespace"]
        chosen = peer.get("namespaceSelector")
        near = where == own if chosen is None else matches(chosen, self._namespaces.get(where, {}))
        return near and matches(peer.get("podSelector") or {}, pod["metadata"].get("labels", {}))


def matches(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a selector selects what has these labels; an empty one selects everything."""
    if any(labels.get(name) != value for name, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(one, labels) for one in selector.get("matchExpressions") or [])


def _holds(one: Object, labels: Mapping[str, str]) -> bool:
    name, values = one["key"], one.get("values", [])
    match one["operator"]:
        case "In":
            return labels.get(name) in values
        case "NotIn":
            return labels.get(name) not in values
        case "Exists":
            return name in labels
        case "DoesNotExist":
            return name not in labels
    message = f"no operator of a selector: {one['operator']!r}"
    raise ValueError(message)


def _selects(policy: Object, pod: Object, direction: str) -> bool:
    spec = policy["spec"]
    # The API server writes the directions down where nobody said them.
    return (
        direction in spec["policyTypes"]
        and policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and matches(spec.get("podSelector") or {}, pod["metadata"].get("labels", {}))
    )


def _ports(ports: Sequence[Object] | None, owner: Object | None) -> Iterator[str]:
    """As options of a rule; names are those of the containers of whose port it is."""
    if not ports:
        yield ""
        return
    for one in ports:
        protocol = one.get("protocol", "TCP").lower()
        wanted = one.get("port")
        if wanted is None:
            yield f"-p {protocol}"
        elif isinstance(wanted, int):
            yield f"-p {protocol} --dport {wanted}" + (f":{one['endPort']}" if "endPort" in one else "")
        else:
            yield from (f"-p {protocol} --dport {number}" for number in _named(wanted, owner))


def _named(name: str, owner: Object | None) -> Iterator[int]:
    for container in owner["spec"]["containers"] if owner is not None else ():
        yield from (port["containerPort"] for port in container.get("ports", []) if port.get("name") == name)


def _blocks(block: Object) -> Iterable[ipaddress.IPv4Network]:
    """What is left of a block; the node has no addresses of the sixth version."""
    left = [ipaddress.IPv4Network(block["cidr"])]
    for hole in map(ipaddress.IPv4Network, block.get("except", [])):
        left = [part for one in left for part in (one.address_exclude(hole) if hole.subnet_of(one) else [one])]
    return left


def _has_address(pod: Object) -> bool:
    status = pod.get("status", {})
    return bool(status.get("podIP")) and status.get("phase") not in _NOBODY and not pod["spec"].get("hostNetwork")


def _address(pod: Object) -> str:
    return str(pod["status"]["podIP"])
