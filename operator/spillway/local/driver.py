"""What a driver answers over HTTP, asked from this machine."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from spillway.model import observation
from spillway.model.errors import NotReadyError
from spillway.model.observation import Deployed, Deployment, SwitchAnswer

# Seconds. A driver answers within a millisecond; one that plans a large job can be busy for most of a second. Longer:
# whoever watches sees nothing move meanwhile.
PATIENCE = 1.0
LARGEST = 16 * 2**20

# Without the proxies of the environment, which know nothing of this machine.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class DriverError(NotReadyError):
    """The driver does not answer, or not as it should."""


Ask = Callable[[str, bytes | None], bytes]


class Driver:
    """A driver at an address, as host:port; or wherever `ask` reaches it."""

    def __init__(self, address: str, token: str = "", ask: Ask | None = None) -> None:
        """`token` is what a driver wants of who changes something; those on this machine want none.

        `ask` gets a path, and a body to put there or None; it raises DriverError.
        """
        self.address = address
        self._asked = ask or over_http(address, token)

    def observation(self) -> observation.Observation:
        """All that it tells of its job."""
        try:
            return observation.observation(self._asked("/v1/observation", None))
        except msgspec.DecodeError as error:
            raise self._unfit(error) from error

    def grant(self, workers: int) -> int:
        """Let so many workers own partitions; what it took of that."""
        body = observation.encode(observation.Grant(observation.VERSION, workers))
        try:
            return observation.grant(self._asked("/v1/grant", body)).workers
        except msgspec.DecodeError as error:
            raise self._unfit(error) from error

    def deploy(self, deployment: Deployment) -> None:
        """Have it run this, each operator on slots of its own; only one that is directed does."""
        self._asked("/v1/deployment", observation.encode(deployment))

    def deployed(self) -> Deployed:
        """How far that is carried out."""
        try:
            return observation.deployed(self._asked("/v1/deployment", None))
        except msgspec.DecodeError as error:
            raise self._unfit(error) from error

    def decisions(self) -> list[dict[str, Any]]:
        """The last decisions, the newest last."""
        try:
            found = json.loads(self._asked("/v1/decisions", None))
        except ValueError as error:
            raise self._unfit(error) from error
        told = found.get("decisions") if isinstance(found, dict) else found
        return [decision for decision in told if isinstance(decision, dict)] if isinstance(told, list) else []

    def deciding(self) -> dict[str, Any]:
        """What is decided now, whether that is news or not; empty before there is anything."""
        try:
            found = json.loads(self._asked("/v1/deciding", None))
        except ValueError as error:
            raise self._unfit(error) from error
        told = found.get("deciding") if isinstance(found, dict) else None
        return told if isinstance(told, dict) else {}

    def switch(
        self, operators: Sequence[str], to: Literal["batch", "record"], *, dry_run: bool = False
    ) -> SwitchAnswer:
        """Have operators run in another paradigm, or only ask what would become of that."""
        order = observation.SwitchOrder(observation.VERSION, tuple(operators), to, dry_run)
        try:
            return observation.switch_answer(self._asked("/v1/switch", observation.encode(order)))
        except msgspec.DecodeError as error:
            raise self._unfit(error) from error

    def get(self, path: str) -> str:
        """Whatever it answers there, as text."""
        return self._asked(path, None).decode(errors="replace")

    def capacities(self, point: str) -> dict[str, float]:
        """What a segment can do, as the decision that is being made takes it: P_D and P_O, as far as known."""
        verdicts = self.deciding().get("switching", {}).get("verdicts", [])
        inputs: dict[str, Any] = next((one.get("inputs", {}) for one in verdicts if one.get("point") == point), {})
        found = {}
        for name in ("P_D", "P_O"):
            try:
                found[name] = float(str(inputs[name]).removesuffix("/s"))
            except (KeyError, ValueError):  # nobody has measured it
                continue
        return found

    def _unfit(self, error: Exception) -> DriverError:
        return DriverError(f"the driver at {self.address} answers in a way that can't be read here: {error}")


def over_http(address: str, token: str = "", patience: float = PATIENCE) -> Ask:
    """Asks at host:port; a `token` is brought with what changes something."""

    def ask(path: str, body: bytes | None) -> bytes:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if body is not None and token:
            headers["Authorization"] = f"Bearer {token}"
        method = "GET" if body is None else "PUT"
        request = urllib.request.Request(f"http://{address}{path}", body, headers, method=method)
        try:
            with _open(request, timeout=patience) as answer:
                return bytes(answer.read(LARGEST))
        except urllib.error.HTTPError as error:
            said = error.read(500).decode(errors="replace").strip()
            message = f"the driver at {address} answers {path} with {error.code}: {said}"
            raise DriverError(message) from None
        except (OSError, http.client.HTTPException) as error:
            message = f"the driver at {address} does not answer: {error}"
            raise DriverError(message) from None

    return ask
