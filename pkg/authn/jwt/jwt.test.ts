import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { signToken, verifyToken } from "./jwt.ts";
import {
  generateSigningKey,
  keySet,
  parseSigningKey,
  parseVerifyingKeys,
  type SigningKey,
} from "./signing-keys.ts";

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

for (const algorithm of ["RS256", "ES256"] as const) {
  describe(`tokens signed with ${algorithm}`, () => {
    let key: SigningKey;
    let other: SigningKey;
    let token: string;

    before(async () => {
      key = parseSigningKey(await generateSigningKey(algorithm));
      other = parseSigningKey(await generateSigningKey(algorithm));
      token = signToken({ sub: "me" }, key);
    });

    it("are accepted with their key, alone or among others", () => {
      assert.deepEqual(verifyToken(token, [key]), { sub: "me" });
      assert.deepEqual(verifyToken(token, [other, key]), { sub: "me" });
      const [published] = (keySet([key]) as { keys: { alg: string; kid: string }[] }).keys;
      assert.deepEqual([published?.alg, published?.kid], [algorithm, key.id]);
    });

    it("are verified with the public key", () => {
      const pem = key.publicKey.export({ type: "spki", format: "pem" }) as string;
      assert.deepEqual(verifyToken(token, parseVerifyingKeys(pem)), { sub: "me" });
    });

    it("are rejected with another key, or if changed, truncated or extended", () => {
      const [head, claims, signature] = token.split(".") as [string, string, string];
      const changed = `${head}.${part({ sub: "you" })}.${signature}`;
      const cut = `${head}.${claims}.`;
      for (const bad of [changed, `${token}x`, `x${token}`, `${token}.`, cut, ""]) {
        assert.equal(verifyToken(bad, [key]), undefined, bad);
      }
      assert.equal(verifyToken(token, [other]), undefined);
    });

    it("cannot select the algorithm", () => {
      const claims = part({ sub: "me" });
      const none = `${part({ alg: "none", kid: key.id })}.${claims}.`;
      assert.equal(verifyToken(none, [key]), undefined);
      // The public key taken for a shared secret.
      const payload = `${part({ alg: "HS256", kid: key.id })}.${claims}`;
      const pem = key.publicKey.export({ type: "spki", format: "pem" });
      const mac = createHmac("sha256", pem).update(payload).digest("base64url");
      assert.equal(verifyToken(`${payload}.${mac}`, [key]), undefined);
      const renamed = `${part({ alg: "RS512", kid: key.id })}.${claims}.${token.split(".")[2]}`;
      assert.equal(verifyToken(renamed, [key]), undefined);
    });
  });
}

describe("keys", () => {
  it("that are weak or of other types are rejected", () => {
    assert.throws(() => parseVerifyingKeys("nothing"), /no PEM block/);
    assert.throws(() => parseSigningKey("nothing"));
  });
});
