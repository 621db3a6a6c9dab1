"""The same test with the Python client of Kubernetes (python3-kubernetes); skipped where it is not installed."""

import os
import unittest

from keelson import Program

try:
    import yaml
    from kubernetes import client, config
except ImportError:
    client = None


def label_once(core, name):
    """Labels the ConfigMap; tries again when another client was faster."""
    while True:
        found = core.read_namespaced_config_map(name, "default")
        found.metadata.labels = {"seen": "yes"}
        try:
            return core.replace_namespaced_config_map(name, "default", found)
        except client.ApiException as error:
            if error.status != 409:
                raise


@unittest.skipIf(client is None, "the Python client of Kubernetes is not installed")
class LabelOnce(unittest.TestCase):
    def test_labels_in_spite_of_a_conflict(self):
        command = os.environ.get("KEELSON")
        server = Program(command=command.split() if command else None)
        self.addCleanup(server.close)
        configuration = client.Configuration()
        config.load_kube_config_from_dict(yaml.safe_load(server.kubeconfig), client_configuration=configuration)
        core = client.CoreV1Api(client.ApiClient(configuration))
        core.create_namespaced_config_map("default", {"metadata": {"name": "a"}})
        server.control("POST", "/faults", {"verb": "update", "resource": "configmaps", "fail": 409})
        self.assertEqual(label_once(core, "a").metadata.labels, {"seen": "yes"})


if __name__ == "__main__":
    unittest.main()
