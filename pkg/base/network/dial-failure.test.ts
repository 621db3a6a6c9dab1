import assert from "node:assert/strict";
import { connect, type NetConnectOpts } from "node:net";
import { dialFailure, hostAndPort } from "./dial-failure.ts";

function errorOf(options: NetConnectOpts): Promise<Error> {
  return new Promise((resolve) => connect(options).once("error", resolve));
}

describe("the error message of a failed connection", () => {
  const place = { host: "hook.example", port: 443 };
  const failed = (code: string, more: object = {}) =>
    dialFailure(place, Object.assign(new Error("of Node"), { code, ...more }));

  const rows: readonly (readonly [string, object, string])[] = [
    ["ENETDOWN", {}, "dial tcp hook.example:443: connect: network is down"],
    ["EMFILE", {}, "dial tcp hook.example:443: socket: too many open files"],
    ["EPROTO", { message: "…:SSL alert number 40" }, "remote error: tls: handshake failure"],
    ["EPROTO", { message: "…:SSL alert number 116" }, "remote error: tls: certificate required"],
    ["ECONNRESET", {}, "EOF"],
    ["ECONNRESET", { syscall: "read" }, "read tcp: read: connection reset by peer"],
    ["EPIPE", { syscall: "write" }, "write tcp: write: broken pipe"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", {}, "http: server gave HTTP response to HTTPS client"],
    ["HPE_INVALID_EOF_STATE", {}, "unexpected EOF"],
    [
      "HPE_INVALID_CONSTANT",
      { rawPacket: Buffer.from("SSH-2.0-x\r\n") },
      'net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-x"',
    ],
  ];
  for (const [code, more, why] of rows) {
    it(`is Go's for ${code} ${JSON.stringify(more)}`, () => assert.equal(failed(code, more), why));
  }

  it("contains the dialed address, or else the host", () => {
    const dialled = { address: "10.0.0.1", port: 8443 };
    const refused = "connect: connection refused";
    assert.equal(failed("ECONNREFUSED", dialled), `dial tcp 10.0.0.1:8443: ${refused}`);
    assert.equal(failed("ECONNREFUSED"), `dial tcp hook.example:443: ${refused}`);
    assert.equal(failed("ETIMEDOUT", dialled), "dial tcp 10.0.0.1:8443: i/o timeout");
    const noRoute = failed("EHOSTUNREACH", { ...dialled, address: "fd00::1" });
    assert.equal(noRoute, "dial tcp [fd00::1]:8443: connect: no route to host");
  });

  it("contains the first of several addresses that refuse the connection", async () => {
    const addresses = ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
    const error = await errorOf({
      host: place.host,
      port: 1,
      autoSelectFamily: true,
      lookup: (_host, _options, found) => found(null, addresses),
    });
    assert.ok(error instanceof AggregateError);
    assert.equal(dialFailure(place, error), "dial tcp 127.0.0.1:1: connect: connection refused");
  });

  it("contains a host that does not resolve", () => {
    const why = "dial tcp: lookup hook.example: no such host";
    assert.equal(failed("ENOTFOUND", { hostname: "hook.example" }), why);
  });

  it("is Node's if Go has no corresponding message", () => {
    assert.equal(failed("ERR_UNKNOWN"), "of Node");
  });
});

it("has IPv6 addresses in brackets before the port", () => {
  assert.equal(hostAndPort({ host: "fd00::9", port: "80" }), "[fd00::9]:80");
  assert.equal(hostAndPort({ host: "10.0.0.9", port: 80 }), "10.0.0.9:80");
});
