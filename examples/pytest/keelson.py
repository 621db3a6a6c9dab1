"""A Keelson API server for tests in Python; needs nothing but the standard library."""

import json
import shutil
import ssl
import subprocess
import urllib.request


class Server:
    """A running server, or a fork of one."""

    def __init__(self, described):
        self.url = described["url"]
        self.kubeconfig = described["kubeconfig"]
        self._described = described
        self._tls = ssl.create_default_context(cadata=described["ca"])

    def request(self, method, path, body=None, content_type="application/json"):
        """Calls the API; returns status code and decoded body."""
        headers = {"Authorization": f"Bearer {self._described['token']}", "Content-Type": content_type}
        return _call(method, self.url + path, headers, body, self._tls)

    def control(self, method, path="", body=None):
        """Calls the control interface: fork, reset, faults, requests, clock."""
        headers = {"Authorization": f"Bearer {self._described['controlToken']}"}
        code, answer = _call(method, self._described["control"] + path, headers, body)
        if code >= 400:
            raise RuntimeError(answer["message"])
        return answer

    def fork(self):
        """An isolated copy of the server; `close` ends it."""
        return Server(self.control("POST", "/fork"))

    def close(self):
        self.control("DELETE")


class Program(Server):
    """The program `keelson testserver`, which ends with this process."""

    def __init__(self, *flags, command=None):
        words = command or [shutil.which("keelson") or "keelson"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([*words, "testserver", *flags], stdin=pipe, stdout=pipe, text=True)
        super().__init__(json.loads(self._process.stdout.readline()))

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _call(method, url, headers, body=None, tls=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, context=tls) as answer:
            return answer.status, _decoded(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _decoded(error.read())


def _decoded(body):
    return json.loads(body) if body else None
