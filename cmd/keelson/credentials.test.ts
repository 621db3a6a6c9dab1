import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { ensureAuthority } from "./credentials.ts";

describe("credentials", () => {
  it("name no two authorities alike, so that TLS can tell them apart", async () => {
    const options = { directory: undefined, now: Date.UTC(2026, 0, 1), name: "ca" };
    const pairs = await Promise.all([ensureAuthority(options), ensureAuthority(options)]);
    const names = pairs.map(({ certificate }) => new X509Certificate(certificate).subject);
    assert.equal(new Set(names).size, 2);
  });
});
