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

  for (const code of ["DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"]) {
    it(`reports an unknown authority for ${code}`, () => {
      const why =
        "tls: failed to verify certificate: x509: certificate signed by unknown authority";
      assert.equal(failed(code), why);
    });
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
    assert.equal(failed("EPROTO"), "of Node");
  });
});

it("has IPv6 addresses in brackets before the port", () => {
  assert.equal(hostAndPort({ host: "fd00::9", port: "80" }), "[fd00::9]:80");
  assert.equal(hostAndPort({ host: "10.0.0.9", port: 80 }), "10.0.0.9:80");
});
