"""The manifests run the processes that compose.yaml runs, as hardened.

Where kubectl is missing, or Python's kubernetes-validate, the tests say so; no cluster was tried.
"""

import importlib.util
import shutil
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from tests.tree import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
PARTS = {"web", "streams", "worker", "beat"}


def documents(folder: Path) -> list[dict[str, Any]]:
    """Every resource of a folder, without what only kustomize reads."""
    found = []
    for file in sorted(folder.glob("*.yaml")):
        found += list(yaml.safe_load_all(file.read_text()))
    return [one for one in found if one["kind"] != "Kustomization"]


def pods() -> dict[str, dict[str, Any]]:
    """Each pod of the base, by its part."""
    templates = [
        one["spec"]["template"] for one in documents(KUBERNETES / "base") if one["kind"] in {"Deployment", "Job"}
    ]
    return {one["metadata"]["labels"]["part"]: one["spec"] for one in templates}


def test_the_same_processes_run_as_under_compose() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    found = pods()
    assert found.keys() == PARTS | {"migrate"}
    for part in PARTS - {"web"}:
        [container] = found[part]["containers"]
        assert container["args"] == compose[part]["command"]
    # Both leave it to the image.
    assert "command" not in compose["web1"]
    assert "args" not in found["web"]["containers"][0]


def test_every_pod_is_hardened_and_reads_secrets_from_files() -> None:
    for pod in pods().values():
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        [given] = container["env"]
        mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        assert mounts["secrets"] == given["value"] == "/run/secrets/florin"


def test_no_web_pod_ends_before_another_is_ready() -> None:
    [web] = [
        one
        for one in documents(KUBERNETES / "base")
        if one["metadata"]["name"] == "florin-web" and one["kind"] == "Deployment"
    ]
    assert web["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    [container] = web["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_every_file_is_named_by_its_kustomization() -> None:
    for folder in ("base", "example"):
        place = KUBERNETES / folder
        named = yaml.safe_load((place / "kustomization.yaml").read_text())["resources"]
        files = {file.name for file in place.glob("*.yaml")} - {"kustomization.yaml"}
        assert files == {name for name in named if name.endswith(".yaml")}


def test_kustomize_builds_the_example_and_the_schemas_of_kubernetes_accept_it(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        sys.stderr.write("kubectl is not installed: the example is not built\n")
        return
    argv = ["kubectl", "kustomize", str(KUBERNETES / "example")]
    built = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    kinds = [one["kind"] for one in yaml.safe_load_all(built)]
    assert kinds.count("Deployment") == 4
    assert f"registry.example/florin:{settings.SERVICE_VERSION}" in built
    if importlib.util.find_spec("kubernetes_validate") is None:
        sys.stderr.write("kubernetes-validate is not installed: no schema is tried\n")
        return
    file = tmp_path / "built.yaml"
    file.write_text(built)
    program = [sys.executable, "-m", "kubernetes_validate", "--strict", str(file)]
    subprocess.run(program, check=True)


def test_the_example_trusts_the_ingress_and_no_network_of_pods() -> None:
    text = (KUBERNETES / "example" / "kustomization.yaml").read_text()
    [maps] = yaml.safe_load(text)["configMapGenerator"]
    [named] = [one for one in maps["literals"] if one.startswith("TRUSTED_PROXIES=")]
    for one in named.partition("=")[2].split(","):
        assert ip_network(one).num_addresses == 1
