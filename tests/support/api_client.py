"""Asks the API server one thing at a time, as kubectl would, without a process for each question."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml


class ApiClient:
    """The API server of a kubeconfig. Answers are (status code, body); a refusal is an answer."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        self.server = config["clusters"][0]["cluster"]["server"]
        self.token = config["users"][0]["user"]["token"]
        self.tls = ssl._create_unverified_context()  # noqa: S323, SLF001 - a server of our own, on loopback

    def ask(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Send one request."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server}{path}", data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.tls) as answer:  # noqa: S310
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, _read(refusal.read())

    def create(self, manifest: dict[str, Any], *, dry_run: bool = False) -> tuple[int, str]:
        """Create a StreamJob, strictly: unknown and repeated fields are refused, as kubectl asks for."""
        path = "/apis/spillway.dev/v1alpha1/namespaces/default/streamjobs?fieldValidation=Strict"
        status, answer = self.ask("POST", path + ("&dryRun=All" if dry_run else ""), manifest)
        return status, answer.get("message", "")


def _read(body: bytes) -> dict[str, Any]:
    """A refusal in JSON, or in words where nothing is served at an address yet."""
    try:
        return dict(json.loads(body))
    except ValueError:
        return {"message": body.decode(errors="replace")}
