/** Certificates and keys that a user put into the certificate directory are never overwritten. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "node:tls";
import { generateSigningKey } from "#authn";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import { type RunningServer, startServer, type StartOptions } from "../index.ts";
import { ensureAuthority, ensureLeaf } from "./credentials.ts";

const day = 86_400_000;
const hosts = ["127.0.0.1"];

describe("supplied certificates", () => {
  let directory: string;
  let server: RunningServer | undefined;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "keelson-supplied-"));
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    rmSync(directory, { recursive: true, force: true });
  });

  const put = (name: string, text: string) => writeFileSync(path.join(directory, name), text);
  const putPair = (name: string, { certificate, privateKey }: KeyPair) => {
    put(`${name}.crt`, certificate);
    put(`${name}.key`, privateKey);
  };
  const content = () =>
    new Map(
      readdirSync(directory).map((name) => [
        name,
        readFileSync(path.join(directory, name), "utf8"),
      ]),
    );
  const start = async (options: StartOptions = {}) => {
    const serviceAccounts = { signingKey: await generateSigningKey("ES256") };
    const common = {
      port: 0,
      controllers: false,
      certificateDirectory: directory,
      serviceAccounts,
    };
    server = await startServer({ ...common, ...options });
    return server;
  };
  /** Resolves with the serving certificate. */
  const shown = async ({ url }: RunningServer): Promise<string> =>
    new Promise((resolve, reject) => {
      const port = Number(new URL(url).port);
      const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
        socket.destroy();
      }).on("error", reject);
    });
  const fingerprint = ({ certificate }: KeyPair) => new X509Certificate(certificate).fingerprint256;
  const assertKept = (before: ReadonlyMap<string, string>) => {
    const now = content();
    for (const [name, text] of before) assert.equal(now.get(name), text, `${name} was changed`);
  };

  const authorities: Readonly<Record<string, (now: number) => Promise<KeyPair>>> = {
    "another authority": (now) => createAuthority("theirs", { validDays: 3650, now }),
    "Keelson's own authority": (now) => ensureAuthority({ directory, now, name: "ca" }),
    "an authority of the same name": (now) =>
      createAuthority("keelson-ca-00000000", { validDays: 9, now }),
  };
  const ages: Readonly<Record<string, readonly [from: number, days: number]>> = {
    "for a year": [0, 366],
    "for a week": [0, 7],
    "that has expired": [-10, 7],
    "from the future": [1, 30],
  };
  for (const [issuer, make] of Object.entries(authorities)) {
    for (const [age, [from, validDays]] of Object.entries(ages)) {
      for (const place of ["in --cert-dir", "named by flags"]) {
        it(`are served as they are: of ${issuer}, ${age}, ${place}`, async () => {
          const now = Date.now();
          const authority = await make(now);
          const leaf = { commonName: "theirs", hosts, usage: "server", validDays } as const;
          const pair = await issueCertificate(authority, { ...leaf, now: now + from * day });
          putPair("apiserver", pair);
          const before = content();
          const file = (end: string) => ({ file: path.join(directory, `apiserver.${end}`) });
          const serving = { certificate: file("crt"), privateKey: file("key") };
          const running = await start(place === "named by flags" ? { serving } : {});
          assert.equal(await shown(running), fingerprint(pair));
          assertKept(before);
        });
      }
    }
  }

  it("do not prevent renewal of generated ones before they expire and for new hosts", async () => {
    const now = Date.now();
    const first = await start();
    const own = await shown(first);
    await first.close();
    assert.equal(await shown(await start()), own);
    await server!.close();
    const authority = {
      certificate: readFileSync(path.join(directory, "ca.crt"), "utf8"),
      privateKey: readFileSync(path.join(directory, "ca.key"), "utf8"),
    };
    const wanted = { commonName: "kube-apiserver", hosts, usage: "server" } as const;
    const later = { directory, now: now + 340 * day, name: "apiserver" };
    const renewed = await ensureLeaf(later, authority, wanted);
    assert.notEqual(fingerprint(renewed), own);
    const more = await ensureLeaf(later, authority, { ...wanted, hosts: ["api.example"] });
    assert.notEqual(fingerprint(more), fingerprint(renewed));
  });

  it("of a CA are not overwritten: a certificate without a key, an expired or an unusual one", async () => {
    const now = Date.now();
    const theirs = await createAuthority("theirs", { validDays: 1, now: now - 2 * day });
    for (const files of [["ca.crt"], ["ca.crt", "ca.key"]]) {
      for (const name of files)
        put(name, name.endsWith("crt") ? theirs.certificate : theirs.privateKey);
      const before = content();
      await (await start()).close();
      assertKept(before);
    }
    const leaf = { commonName: "x", usage: "client" } as const;
    await assert.rejects(
      ensureAuthority({ directory, now, name: "ca" }),
      /ca\.crt was not generated by Keelson and cannot be used/,
    );
    const own = await createAuthority("own", { validDays: 9, now });
    putPair("admin", await issueCertificate(theirs, { ...leaf, validDays: 9, now }));
    const before = content();
    await assert.rejects(
      ensureLeaf({ directory, now, name: "admin" }, own, leaf),
      /admin\.crt was not/,
    );
    await start();
    assertKept(before);
  });

  it("without their other half are an error that names both files", async () => {
    const now = Date.now();
    const pair = await createAuthority("theirs", { validDays: 9, now });
    for (const [name, end] of [
      ["apiserver", "crt"],
      ["apiserver", "key"],
      ["ca", "key"],
    ] as const) {
      put(`${name}.${end}`, end === "crt" ? pair.certificate : pair.privateKey);
      const before = content();
      await assert.rejects(
        start(),
        /exists without .*: a certificate and its key must be supplied/,
      );
      assertKept(before);
      assert.equal(content().has("apiserver.crt"), before.has("apiserver.crt"));
      rmSync(path.join(directory, `${name}.${end}`));
    }
  });

  it("and a client CA make a generated CA unnecessary without controllers", async () => {
    const now = Date.now();
    const authority = await createAuthority("theirs", { validDays: 9, now });
    const leaf = { commonName: "theirs", hosts, usage: "server", validDays: 9, now } as const;
    putPair("apiserver", await issueCertificate(authority, leaf));
    const { kubeconfig } = await start({ clientCa: authority.certificate });
    assert.equal(kubeconfig, "");
    const kept = readdirSync(directory).filter((file) => !file.startsWith("front-proxy-"));
    assert.deepEqual(kept.sort(), ["apiserver.crt", "apiserver.key"]);
  });

  it("are trusted by the kubeconfig", async () => {
    const now = Date.now();
    const authority = await createAuthority("theirs", { validDays: 9, now });
    const leaf = { commonName: "theirs", hosts, usage: "server", validDays: 9, now } as const;
    const pair = await issueCertificate(authority, leaf);
    putPair("apiserver", pair);
    const { kubeconfig } = await start();
    const [, data = ""] = /certificate-authority-data: (\S+)/.exec(kubeconfig) ?? [];
    assert.equal(Buffer.from(data, "base64").toString(), pair.certificate);
  });
});
