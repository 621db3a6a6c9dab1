import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ensureAuthority, ensureSigningKey } from "./credentials.ts";

describe("credentials", () => {
  it("give each CA a unique name, so that TLS can tell them apart", async () => {
    const options = { directory: undefined, now: Date.UTC(2026, 0, 1), name: "ca" };
    const pairs = await Promise.all([ensureAuthority(options), ensureAuthority(options)]);
    const names = pairs.map(({ certificate }) => new X509Certificate(certificate).subject);
    assert.equal(new Set(names).size, 2);
  });

  it("fail to load if a key is damaged or empty, and leave the files unchanged", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "keelson-credentials-"));
    const options = { directory, now: Date.UTC(2026, 0) };
    const authority = () => ensureAuthority({ ...options, name: "ca" });
    const signingKey = () => ensureSigningKey(directory, "ES256");
    try {
      await authority();
      await signingKey();
      for (const text of ["", "junk"]) {
        writeFileSync(path.join(directory, "ca.key"), text);
        await assert.rejects(authority(), /ca\.key is not a private key: /);
        assert.equal(readFileSync(path.join(directory, "ca.key"), "utf8"), text);
      }
      writeFileSync(path.join(directory, "sa.key"), "\n");
      await assert.rejects(signingKey(), /sa\.key is empty: restore it, or delete it/);
      assert.equal(readFileSync(path.join(directory, "sa.key"), "utf8"), "\n");
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("are regenerated if they expire or are not yet valid, and are kept otherwise", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "keelson-credentials-"));
    const made = (year: number, month: number) =>
      ensureAuthority({ directory, now: Date.UTC(year, month), name: "ca" });
    try {
      const first = await made(2026, 0);
      assert.deepEqual(await made(2026, 1), first);
      assert.notDeepEqual(await made(2040, 0), first);
      const { certificate } = await made(2026, 1);
      writeFileSync(path.join(directory, "ca.crt"), "junk");
      await assert.rejects(made(2026, 1), /ca\.crt is not a certificate: /);
      assert.ok(Date.parse(new X509Certificate(certificate).validFrom) < Date.UTC(2026, 1));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
