import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { StoreFault } from "../backend.ts";
import { etcdBackend } from "./etcd-backend.ts";
import { startEtcd, type EtcdCluster } from "./testing.ts";

const run = promisify(execFile);

/** An authority and one certificate of it for 127.0.0.1, for both ends; files in PEM. */
async function certificates(directory: string, name: string) {
  const file = (suffix: string): string => join(directory, `${name}-${suffix}`);
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const ca = ["-keyout", file("ca.key"), "-out", file("ca.crt")];
  const authority = ["-x509", "-days", "2", "-subj", `/CN=${name}`];
  await run("openssl", ["req", ...authority, ...curve, ...ca]);
  const leaf = ["-keyout", file("leaf.key"), "-out", file("leaf.csr")];
  await run("openssl", ["req", ...curve, "-subj", `/CN=${name}-member`, ...leaf]);
  const extensions = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n";
  await writeFile(file("extensions"), extensions);
  const signer = ["-CA", file("ca.crt"), "-CAkey", file("ca.key"), "-CAcreateserial"];
  const made = ["-days", "2", "-extfile", file("extensions"), "-out", file("leaf.crt")];
  await run("openssl", ["x509", "-req", "-in", file("leaf.csr"), ...signer, ...made]);
  return { ca: file("ca.crt"), cert: file("leaf.crt"), key: file("leaf.key") };
}

describe("etcd over TLS", () => {
  let directory: string;
  let etcd: EtcdCluster;
  let right: { ca: Buffer; cert: Buffer; key: Buffer };
  let wrong: typeof right;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "keelson-tls-"));
    const tls = await certificates(directory, "right");
    const read = async (files: typeof tls): Promise<typeof right> => ({
      ca: await readFile(files.ca),
      cert: await readFile(files.cert),
      key: await readFile(files.key),
    });
    right = await read(tls);
    wrong = await read(await certificates(directory, "wrong"));
    etcd = await startEtcd({ tls });
  });
  after(async () => {
    await etcd?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const fault = async (tls: Partial<typeof right>): Promise<StoreFault> => {
    await using backend = etcdBackend({ endpoints: etcd.endpoints, tls, requestTimeoutMs: 5_000 });
    const write = { put: "/a", value: Buffer.from("v") };
    const error: unknown = await backend
      .txn({ compare: [], then: [write], otherwise: [] })
      .catch((reason: unknown) => reason);
    assert.ok(error instanceof StoreFault, String(error));
    return error;
  };

  it("works with a client certificate, calls and watches", async () => {
    await using backend = etcdBackend({ endpoints: etcd.endpoints, tls: right });
    const abort = new AbortController();
    const fromRevision = (await backend.revision()) + 1;
    const watch = backend.watch({ fromRevision, signal: abort.signal });
    const next = watch[Symbol.asyncIterator]().next();
    const write = { put: "/a", value: Buffer.from("v") };
    const { revision } = await backend.txn({ compare: [], then: [write], otherwise: [] });
    const first = await next;
    assert.ok(!first.done && first.value.revision === revision);
    abort.abort();
  });

  it("says that the member's authority is not trusted", async () => {
    const { detail } = await fault({ ...right, ca: wrong.ca });
    assert.ok(detail.kind === "unavailable", detail.kind);
    assert.equal(detail.maybeApplied, false);
    assert.match(detail.message, /certificate/);
  });

  it("is refused with another authority's certificate, and with none", async () => {
    for (const tls of [{ ...wrong, ca: right.ca }, { ca: right.ca }]) {
      const { detail } = await fault(tls);
      assert.ok(detail.kind === "unavailable", detail.kind);
      // The alert that OpenSSL reports, or the certificate that etcd asked for.
      assert.match(detail.message, /certificate|unknown ca/);
    }
  });
});
