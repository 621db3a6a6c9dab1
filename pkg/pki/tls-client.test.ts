import assert from "node:assert/strict";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { createAuthority, issueCertificate, type KeyPair } from "./certificates.ts";
import { makeChain, type ChainPart } from "./testing.ts";
import { connectTls, TlsAgent } from "./tls-client.ts";

const unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
const invalid = "tls: failed to verify certificate: x509:";
const day = 86_400_000;
const validity = { validDays: 1, now: Date.now() };

interface Row {
  readonly name: string;
  /** From the trust anchor to the serving certificate. */
  readonly parts: readonly ChainPart[];
  /** Which parts the server sends, in this order; default: its certificate, then its issuers. */
  readonly sends?: readonly number[];
  /** Which parts are trusted; default: the first. */
  readonly trusts?: readonly number[];
  readonly host?: string;
  /** Undefined = accepted. Results are those of crypto/x509 of Go 1.24. */
  readonly fault?: RegExp;
}

const server = { names: ["localhost"], usage: "server" } as const;
const rows: readonly Row[] = [
  { name: "different subjects", parts: [{ subject: "ca" }, { subject: "x", ...server }] },
  { name: "equal subjects", parts: [{ subject: "x" }, { subject: "x", ...server }] },
  { name: "empty subjects", parts: [{ subject: "" }, { subject: "", ...server }] },
  {
    name: "equal subjects with an intermediate",
    parts: [{ subject: "x" }, { subject: "x" }, { subject: "x", ...server }],
  },
  {
    name: "intermediates out of order",
    parts: [{ subject: "a" }, { subject: "b" }, { subject: "c" }, { subject: "d", ...server }],
    sends: [3, 1, 2],
  },
  {
    name: "a missing intermediate",
    parts: [{ subject: "a" }, { subject: "b" }, { subject: "d", ...server }],
    sends: [2],
    fault: /certificate signed by unknown authority$/,
  },
  {
    name: "a partial chain to a trusted intermediate",
    parts: [{ subject: "a" }, { subject: "b" }, { subject: "d", ...server }],
    trusts: [1],
    sends: [2],
  },
  {
    name: "a trusted serving certificate",
    parts: [{ subject: "a" }, { subject: "d", ...server }],
    trusts: [1],
    sends: [1],
  },
  {
    name: "an issuer that is no authority",
    parts: [{ subject: "a" }, { subject: "b", ...server }, { subject: "c", ...server }],
    fault: /unknown authority \(possibly because of "x509: invalid signature: parent/,
  },
  {
    name: "an expired certificate",
    parts: [{ subject: "a" }, { subject: "c", ...server, until: -day }],
    fault: /expired or is not yet valid: current time \S+Z is after \S+Z$/,
  },
  {
    name: "an expired intermediate",
    parts: [{ subject: "a" }, { subject: "b", until: -day }, { subject: "c", ...server }],
    fault: /expired or is not yet valid: current time \S+Z is after \S+Z$/,
  },
  {
    name: "another name",
    parts: [{ subject: "a" }, { subject: "c", names: ["b.example", "c.example"], usage: "server" }],
    fault: /certificate is valid for b.example, c.example, not localhost$/,
  },
  {
    name: "a common name alone",
    parts: [{ subject: "a" }, { subject: "localhost", usage: "server" }],
    fault: /certificate relies on legacy Common Name field, use SANs instead$/,
  },
  {
    name: "an address that is no alternative name",
    parts: [{ subject: "a" }, { subject: "c", ...server }],
    host: "127.0.0.1",
    fault: /cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs$/,
  },
  {
    name: "an address",
    parts: [{ subject: "a" }, { subject: "c", names: ["127.0.0.1"], usage: "server" }],
    host: "127.0.0.1",
  },
  {
    name: "the usage of clients",
    parts: [{ subject: "a" }, { subject: "c", names: ["localhost"], usage: "client" }],
    fault: /certificate specifies an incompatible key usage$/,
  },
  { name: "no usage", parts: [{ subject: "a" }, { subject: "c", names: ["localhost"] }] },
  {
    name: "a path that is too long",
    parts: [{ subject: "a", maxPathLength: 0 }, { subject: "b" }, { subject: "c", ...server }],
    fault: /too many intermediates for path length constraint$/,
  },
  {
    name: "a name that the authority may certify",
    parts: [
      { subject: "a", permitted: ["localhost"] },
      { subject: "c", ...server },
    ],
  },
  {
    name: "a name that the authority may not certify",
    parts: [
      { subject: "a", permitted: ["example.com"] },
      { subject: "c", ...server },
    ],
    fault: /not authorized to sign for this name: DNS name "localhost" is not permitted by any/,
  },
];

interface Dialled {
  readonly error: Error | undefined;
  /** Bytes of the request that the server received. */
  readonly received: number;
}

describe("a TLS connection", () => {
  for (const { name, parts, sends, trusts = [0], host = "localhost", fault } of rows) {
    it(`${fault === undefined ? "accepts" : "refuses"} ${name}`, async () => {
      const chain = await makeChain(parts);
      const order = sends ?? parts.map((_, index) => index).toReversed();
      const cert = order.map((index) => chain[index]!.certificate).join("");
      const ca = trusts.map((index) => chain[index]!.certificate).join("");
      const key = chain.at(-1)!.privateKey;
      for (const dial of [http1, http2]) {
        const { error, received } = await dial({ cert, key, ca, host });
        if (fault === undefined) {
          assert.equal(error, undefined);
          assert.ok(received > 0);
        } else {
          assert.match(error?.message ?? "", fault);
          assert.ok(error?.message.startsWith(invalid));
          assert.equal(received, 0, "the request was sent to an unverified server");
        }
      }
    });
  }

  it("refuses an authority of the same name with another key", async () => {
    const [one, other] = await Promise.all([
      createAuthority("ca", validity),
      createAuthority("ca", validity),
    ]);
    const { certificate: cert, privateKey: key } = await issue(other);
    const { error, received } = await http1({ cert, key, ca: one.certificate, host: "localhost" });
    assert.ok(error?.message.startsWith(`${unknown} (possibly because of "x509: ECDSA`));
    assert.equal(received, 0);
  });
});

function issue(authority: KeyPair): Promise<KeyPair> {
  return issueCertificate(authority, {
    commonName: "x",
    hosts: ["localhost"],
    usage: "server",
    ...validity,
  });
}

interface Dial {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly host: string;
}

async function withServer(
  { cert, key }: Dial,
  use: (port: number) => Promise<Error | undefined>,
): Promise<Dialled> {
  let received = 0;
  const options = { cert, key, ALPNProtocols: ["h2", "http/1.1"] };
  const listener = createServer(options, (socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes: Buffer) => {
      received += bytes.length;
      socket.destroy();
    });
  });
  listener.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const error = await use((listener.address() as AddressInfo).port);
  await new Promise((resolve) => listener.close(resolve));
  return { error: received > 0 ? undefined : error, received };
}

function http1(dial: Dial): Promise<Dialled> {
  return withServer(dial, async (port) => {
    const agent = new TlsAgent({ ca: dial.ca });
    return new Promise((resolve) => {
      const options = { protocol: "https:", host: dial.host, port, agent, method: "POST" };
      request(options).once("error", resolve).end("secret");
    });
  });
}

function http2(dial: Dial): Promise<Dialled> {
  return withServer(dial, async (port) => {
    const { ca, host } = dial;
    const socket = () => connectTls({ host, port, ca, ALPNProtocols: ["h2"] });
    const session = connectHttp2(`https://${host}:${port}`, { createConnection: socket });
    let error: Error | undefined;
    session.on("error", (reason) => (error = reason));
    session.request({ ":path": "/" }).on("error", () => undefined);
    await new Promise((resolve) => session.once("close", resolve));
    return error;
  });
}
