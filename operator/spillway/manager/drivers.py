"""Drivers: what each tells of its job, and what it is granted, as `spillway.model.observation` has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec

from spillway.manager.errors import DriverError
from spillway.manager.manifests.parts import PORT
from spillway.model import observation
from spillway.model.observation import Grant, Observation

# Seconds for an answer. A driver answers out of memory, in milliseconds; one that plans a large job in half a second.
TIMEOUT = 3.0
# Bytes. The observation of a job with a thousand partitions takes 200 kB.
LARGEST = 16 * 1024 * 1024

Address = Callable[[str, str], str]


def in_cluster(namespace: str, job: str) -> str:
    """Where the driver of a job answers."""
    return f"http://{job}-driver.{namespace}.svc:{PORT}"


class Drivers:
    """All drivers, over connections that are kept."""

    def __init__(self, address: Address = in_cluster) -> None:
        self.address = address
        self.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=TIMEOUT), connector=aiohttp.TCPConnector(limit=64, limit_per_host=8)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self.session.close()

    async def observation(self, namespace: str, job: str) -> Observation:
        """What it tells. Raises DriverError."""
        body = await self._ask("GET", namespace, job, "/v1/observation")
        try:
            found = observation.observation(body)
        except msgspec.MsgspecError as error:
            message = f"what the driver of {namespace}/{job} tells can't be read: {error}"
            raise DriverError(message) from error
        if found.version != observation.VERSION or found.job != f"{namespace}/{job}":
            message = f"the driver of {namespace}/{job} speaks version {found.version} of job {found.job}"
            raise DriverError(message)
        return found

    async def grant(self, namespace: str, job: str, token: str, workers: int, executors: int | None) -> None:
        """Tell it how many may work. Raises DriverError."""
        body = observation.encode(Grant(observation.VERSION, workers, executors))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        await self._ask("PUT", namespace, job, "/v1/grant", data=body, headers=headers)

    async def _ask(self, method: str, namespace: str, job: str, path: str, **how: Any) -> bytes:
        address = f"{self.address(namespace, job)}{path}"
        try:
            async with self.session.request(method, address, allow_redirects=False, **how) as answer:
                body = await answer.content.read(LARGEST + 1)
                while len(body) <= LARGEST and (more := await answer.content.read(LARGEST + 1 - len(body))):
                    body += more
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"{address} does not answer: {str(error) or type(error).__name__}"
            raise DriverError(message) from error
        if answer.status != 200:
            message = f"{address} answers with {answer.status}: {body[:200].decode(errors='replace')}"
            raise DriverError(message)
        if len(body) > LARGEST:
            message = f"{address} answers with more than {LARGEST} bytes"
            raise DriverError(message)
        return body
