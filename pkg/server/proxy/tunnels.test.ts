import assert from "node:assert/strict";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import type { Destination } from "#registry";
import { ordinaryDialer } from "../../request/testing.ts";
import { DialFault, Tunnels } from "./tunnels.ts";

describe("tunnels to kubelets", () => {
  let kubelet: https.Server;
  let authority: KeyPair;
  let client: KeyPair;
  const now = Date.now();

  before(async () => {
    authority = await createAuthority("ca", { validDays: 1, now });
    const leaf = { validDays: 1, now };
    const hosts = ["127.0.0.1"];
    const serving = { ...leaf, commonName: "kubelet", hosts, usage: "server" } as const;
    const { certificate: cert, privateKey: key } = await issueCertificate(authority, serving);
    client = await issueCertificate(authority, { ...leaf, commonName: "api", usage: "client" });
    const ca = authority.certificate;
    const tls = { cert, key, ca, requestCert: true, rejectUnauthorized: false };
    kubelet = https.createServer(tls, (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.end(`${subject?.CN ?? "anonymous"} ${request.url}`);
    });
    kubelet.on("upgrade", (_request, socket) => {
      const head = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: x"];
      socket.write(`${head.join("\r\n")}\r\n\r\nhi`);
    });
    await new Promise<void>((resolve) => kubelet.listen(0, "127.0.0.1", resolve));
  });
  after(() => {
    kubelet.closeAllConnections();
    kubelet.close();
  });

  const destination = (more: Partial<Destination> = {}): Destination => ({
    scheme: "https",
    host: "127.0.0.1",
    port: String((kubelet.address() as AddressInfo).port),
    path: "/containerLogs/ns/p/c",
    query: "follow=true",
    peer: "kubelet",
    use: "log",
    ...more,
  });
  const openTunnel = (tunnels: Tunnels, to: Destination, headers = {}) =>
    tunnels.open(to, { method: "GET", headers, signal: AbortSignal.timeout(60_000) });
  const textOf = async (tunnels: Tunnels, to = destination()): Promise<string> => {
    const response = await openTunnel(tunnels, to);
    let text = "";
    for await (const chunk of response.message) text += String(chunk);
    return text;
  };

  it("presents its client certificate and verifies that of the kubelet", async () => {
    const { certificate: cert, privateKey: key } = client;
    const tunnels = new Tunnels({ ca: authority.certificate, cert, key }, ordinaryDialer);
    assert.equal(await textOf(tunnels), "api /containerLogs/ns/p/c?follow=true");
  });

  it("rejects a kubelet with an untrusted certificate, unless verification is disabled", async () => {
    const other = await createAuthority("other", { validDays: 1, now });
    const tunnels = new Tunnels({ ca: other.certificate }, ordinaryDialer);
    await assert.rejects(openTunnel(tunnels, destination()), DialFault);
    assert.match(await textOf(tunnels, destination({ peer: "kubelet, unchecked" })), /^anonymous /);
    assert.match(await textOf(new Tunnels({}, ordinaryDialer)), /^anonymous /);
  });

  it("returns an upgraded connection with the data that followed the response", async () => {
    const headers = { connection: "Upgrade", upgrade: "x" };
    const response = await openTunnel(
      new Tunnels({}, ordinaryDialer),
      destination({ use: "upgrade" }),
      headers,
    );
    assert.ok(response.kind === "upgraded");
    const first = response.head.byteLength > 0 ? response.head : await onceData(response.socket);
    assert.equal(Buffer.from(first).toString(), "hi");
    response.socket.destroy();
  });

  it("connects to the resolved addresses instead of resolving the name again", async () => {
    const tunnels = new Tunnels({ ca: authority.certificate }, ordinaryDialer);
    const named = destination({ host: "127.0.0.1.invalid", addresses: ["127.0.0.1"] });
    const unchecked = destination({ ...named, peer: "kubelet, unchecked" });
    assert.match(await textOf(tunnels, unchecked), /^anonymous /);
    // The certificate is verified for the name.
    await assert.rejects(openTunnel(tunnels, named), /127\.0\.0\.1\.invalid/);
  });

  it("reports dial failures with the message of Go", async () => {
    const refused = destination({ port: "1" });
    const failure = await openTunnel(new Tunnels({}, ordinaryDialer), refused).catch(
      (error: unknown) => error,
    );
    assert.ok(failure instanceof DialFault);
    assert.equal(failure.message, "dial tcp 127.0.0.1:1: connect: connection refused");
  });
});

function onceData(stream: NodeJS.ReadableStream): Promise<Uint8Array> {
  return new Promise((resolve) => stream.once("data", resolve));
}
