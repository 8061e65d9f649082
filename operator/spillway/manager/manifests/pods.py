"""The pods of a job: driver, workers, and what Spark makes its executors of. All are taken under `restricted`."""

from __future__ import annotations

from collections.abc import Sequence

from spillway.controllers.reconciling import names
from spillway.manager.manifests import resources
from spillway.manager.manifests.parts import PORT, SECURE_CONTAINER, SECURE_POD, Built, Manifest, templated

SPEC, TOKEN, CODE, KAFKA = "/etc/spillway/spec", "/etc/spillway/token", "/etc/spillway/code", "/etc/spillway/kafka"
SCRATCH = "/var/lib/spillway"
JOB_FILE, EXECUTOR_FILE, TOKEN_KEY = "job.json", "executor.yaml", "token"

SPARK_PORT, BLOCKS_PORT = 7078, 7079

# Seconds that a worker has to finish, commit and give back what it has, and ten more for the kubelet and the exit.
GRACE = 50
GRACE_OF_POD = 60
# Seconds. A driver that is ended writes nothing that a new one would not find; Spark stops its executors meanwhile.
GRACE_OF_DRIVER = 30

# Of what the kubelet asks: a start takes seconds, and a restore of large tables must not count as dead.
_PATIENT = {"periodSeconds": 2, "failureThreshold": 90}
_ALIVE = {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6}
_READY = {"periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 3}


def driver(built: Built) -> Manifest:
    """The template of the driver's pod."""
    spark = built.shape.job.spec.execution.executors.max > 0
    more = ["--spark", "k8s", "--executor-template", f"{SPEC}/{EXECUTOR_FILE}"] if spark else []
    ports = [_port("spark", SPARK_PORT), _port("blocks", BLOCKS_PORT)] if spark else []
    made = _process(
        built,
        names.DRIVER,
        ["--token", f"{TOKEN}/{TOKEN_KEY}", *more],
        # Ready as soon as it answers: workers and the manager have to reach it before the job is.
        ready="/healthz",
        resources=resources.driver(spark=spark),
        ports=ports,
    )
    secret = {"name": "token", "secret": {"secretName": built.names.token, "defaultMode": 0o440}}
    made["spec"]["volumes"].append(secret)
    made["spec"]["containers"][0]["volumeMounts"].append(_mount("token", TOKEN))
    made["spec"] |= {
        "serviceAccountName": built.names.driver,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": GRACE_OF_DRIVER,
    }
    return made


def worker(built: Built) -> Manifest:
    """The template of a worker's pod."""
    made = _process(
        built,
        names.WORKER,
        ["--worker", "$(WORKER)", "--scratch", SCRATCH, "--grace", str(GRACE)],
        ready="/readyz",
        resources=resources.worker(built.shape.job.spec.execution.workers.slots),
        env=[_field("WORKER", "metadata.labels['apps.kubernetes.io/pod-index']")],
    )
    made["spec"] |= {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": GRACE_OF_POD}
    return templated(made, built.shape.job.spec.execution.workers.pod_template)


def executor(built: Built) -> Manifest:
    """A pod as Spark's template has it: Spark adds the image, the command, resources, and the driver as its owner."""
    labels = built.names.labels(names.EXECUTOR)
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": dict(SECURE_POD),
            "containers": [
                {
                    "name": names.MAIN,
                    "image": built.image,
                    "imagePullPolicy": built.settings.pull_policy,
                    "resources": resources.executor(built.shape.job.spec.execution.executors.cores),
                    "securityContext": dict(SECURE_CONTAINER),
                    "volumeMounts": [_mount("tmp", "/tmp", write=True), *_of_user(built)[0]],  # noqa: S108
                }
            ],
            "volumes": [{"name": "tmp", "emptyDir": {}}, *_of_user(built)[1]],
        },
    }
    return templated(made, built.shape.job.spec.execution.executors.pod_template)


def _process(
    built: Built,
    component: str,
    arguments: Sequence[str],
    *,
    ready: str,
    resources: Manifest,
    ports: Sequence[Manifest] = (),
    env: Sequence[Manifest] = (),
) -> Manifest:
    """The template of a pod with one of our processes: what drivers and workers have in common."""
    of_user, volumes_of_user = _of_user(built)
    annotations = {names.CODE_HASH: built.code_hash} if built.code_hash else {}
    common = ["--job", f"{SPEC}/{JOB_FILE}", "--host", "0.0.0.0", "--port", str(PORT)]  # noqa: S104 - of a pod, behind a policy
    container = {
        "name": names.MAIN,
        "image": built.image,
        "imagePullPolicy": built.settings.pull_policy,
        "command": [f"spillway-{component}"],
        "args": [*common, *_files(built), *arguments],
        "ports": [_port("http", PORT), *ports],
        "env": [
            _field("POD_NAME", "metadata.name"),
            _field("POD_NAMESPACE", "metadata.namespace"),
            _field("POD_IP", "status.podIP"),
            *env,
        ],
        "resources": resources,
        **_probes("/healthz", ready),
        "securityContext": dict(SECURE_CONTAINER),
        # Its last words become the message of its end.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            _mount("spec", SPEC),
            *of_user,
            _mount("scratch", SCRATCH, write=True),
            _mount("tmp", "/tmp", write=True),  # noqa: S108 - a volume of this pod alone
        ],
    }
    return {
        "metadata": {
            "labels": built.names.labels(component),
            "annotations": {
                **annotations,
                # For a Prometheus without PodMonitors.
                "prometheus.io/scrape": "true",
                "prometheus.io/port": str(PORT),
            },
        },
        "spec": {
            "enableServiceLinks": False,
            "securityContext": dict(SECURE_POD),
            "containers": [container],
            "volumes": [
                {"name": "spec", "configMap": {"name": built.names.spec}},
                *volumes_of_user,
                {"name": "scratch", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
    }


def _files(built: Built) -> list[str]:
    """Arguments for what the user brings."""
    spec, found = built.shape.job.spec, []
    if spec.execution.code is not None:
        found += ["--code", CODE]
    if spec.kafka.security is not None and spec.kafka.security.secret_ref is not None:
        found += ["--secret", KAFKA]
    return found


def _of_user(built: Built) -> tuple[list[Manifest], list[Manifest]]:
    """Mounts and volumes for the same."""
    spec = built.shape.job.spec
    mounts, volumes = [], []
    if spec.execution.code is not None:
        mounts.append(_mount("code", CODE))
        volumes.append({"name": "code", "configMap": {"name": spec.execution.code.config_map}})
    if spec.kafka.security is not None and spec.kafka.security.secret_ref is not None:
        mounts.append(_mount("kafka", KAFKA))
        secret = {"secretName": spec.kafka.security.secret_ref.name, "defaultMode": 0o440}
        volumes.append({"name": "kafka", "secret": secret})
    return mounts, volumes


def _probes(live: str, ready: str) -> Manifest:
    def ask(path: str) -> Manifest:
        return {"httpGet": {"path": path, "port": "http"}}

    return {
        "startupProbe": {**ask(live), **_PATIENT},
        "livenessProbe": {**ask(live), **_ALIVE},
        "readinessProbe": {**ask(ready), **_READY},
    }


def _port(name: str, number: int) -> Manifest:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _field(name: str, path: str) -> Manifest:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _mount(name: str, path: str, *, write: bool = False) -> Manifest:
    return {"name": name, "mountPath": path, **({} if write else {"readOnly": True})}
