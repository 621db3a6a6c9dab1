"""Tests of a function that labels a ConfigMap. Run by pytest, or by `python3 -m unittest`.

KEELSON names the command if keelson is not on PATH: KEELSON="node dist/keelson.js".
"""

import os
import unittest

from keelson import Program

MAPS = "/api/v1/namespaces/default/configmaps"


def label_once(server, name):
    """Labels the ConfigMap; tries again when another client was faster."""
    for _ in range(3):
        _, found = server.request("GET", f"{MAPS}/{name}")
        found["metadata"]["labels"] = {"seen": "yes"}
        code, answer = server.request("PUT", f"{MAPS}/{name}", found)
        if code != 409:
            return answer
    raise RuntimeError("too many conflicts")


class LabelOnce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = os.environ.get("KEELSON")
        cls.program = Program("--virtual-time", command=command.split() if command else None)
        cls.addClassCleanup(cls.program.close)
        cls.program.request("POST", MAPS, {"metadata": {"name": "a"}})

    def setUp(self):
        self.server = self.program.fork()
        self.addCleanup(self.server.close)

    def test_labels_in_spite_of_a_conflict(self):
        fault = {"verb": "update", "resource": "configmaps", "fail": 409}
        self.server.control("POST", "/faults", fault)
        self.assertEqual(label_once(self.server, "a")["metadata"]["labels"], {"seen": "yes"})
        writes = self.server.control("POST", "/requests", {"verb": "write"})["items"]
        self.assertEqual([each["status"] for each in writes], [409, 200])

    def test_forks_are_isolated(self):
        self.server.request("DELETE", f"{MAPS}/a")
        self.assertEqual(self.program.request("GET", f"{MAPS}/a")[0], 200)

    def test_time_is_the_tests(self):
        before = self.server.control("GET", "/clock")["now"]
        after = self.server.control("POST", "/clock", {"advanceMs": 3_600_000})["now"]
        self.assertEqual(after[14:], before[14:])
        self.assertNotEqual(after[:13], before[:13])


if __name__ == "__main__":
    unittest.main()
