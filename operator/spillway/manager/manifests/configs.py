"""What pods read: the accepted manifest, the template of executors, and the token of the HTTP contract."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import yaml

from spillway.controllers.reconciling import names
from spillway.manager.manifests import pods
from spillway.manager.manifests.parts import Built, Manifest
from spillway.model import streamjob

# In C where it is there: in Python this is half of the time that the children of a job take to be built.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def spec(built: Built) -> Manifest:
    """The ConfigMap with both files."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": built.metadata(built.names.spec),
        "data": {
            pods.JOB_FILE: json.dumps(document(built), indent=1, sort_keys=True),
            pods.EXECUTOR_FILE: yaml.dump(pods.executor(built), Dumper=_DUMPER, sort_keys=True),
        },
    }


def document(built: Built) -> dict[str, Any]:
    """The manifest as the driver reads it."""
    metadata = built.shape.job.metadata
    return {
        "apiVersion": streamjob.API_VERSION,
        "kind": streamjob.KIND,
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": built.uid,
            "generation": built.shape.generation,
        },
        "spec": built.document["spec"],
    }


def read(config_map: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest that such a ConfigMap has; None if it has none that can be read."""
    try:
        found = json.loads(config_map["data"][pods.JOB_FILE])
    except (KeyError, TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def token(built: Built) -> Manifest:
    """The Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": built.metadata(built.names.token, names.DRIVER),
        "type": "Opaque",
        "data": {pods.TOKEN_KEY: base64.b64encode(built.token.encode()).decode()},
    }


def token_of(secret: Mapping[str, Any]) -> str:
    """The token that such a Secret has; empty if it has none that can be read."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(pods.TOKEN_KEY, "")).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
