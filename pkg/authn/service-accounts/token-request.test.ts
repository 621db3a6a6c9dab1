import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { unverifiedClaims } from "../jwt/jwt.ts";
import { ServiceAccountTokenAuthenticator } from "./service-account-tokens.ts";
import { generateSigningKey, parseSigningKey, type SigningKey } from "../jwt/signing-keys.ts";
import { tokenRequest, type TokenRequestOptions } from "./token-request.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const issuer = "https://issuer.example.org";

describe("TokenRequests", () => {
  let key: SigningKey;
  let warnings: string[];
  const objects = new Map<string, any>([
    ["serviceaccounts/app", { metadata: { namespace: "ns", name: "app", uid: "account-uid" } }],
    [
      "pods/p",
      {
        metadata: { name: "p", uid: "pod-uid" },
        spec: { serviceAccountName: "app", nodeName: "" },
      },
    ],
  ]);
  const read: TokenRequestOptions["read"] = async ({ plural, name }) =>
    objects.get(`${plural}/${name}`);

  const optionsOf = (): TokenRequestOptions => ({
    issuer,
    signingKey: () => key,
    audiences: [issuer],
    checksUid: true,
    read,
    domain: kubernetes,
    extends: true,
  });

  before(async () => {
    key = parseSigningKey(await generateSigningKey("ES256"));
  });
  beforeEach(() => {
    warnings = [];
  });

  it("must have the name in the path, even for a missing ServiceAccount", async () => {
    const options = optionsOf();
    const request = { namespace: "ns", name: "none", resource: { plural: "serviceaccounts" } };
    const object = { metadata: { name: "other" }, spec: {} };
    const answer = tokenRequest(options).handle({ object, request } as any);
    await assert.rejects(answer, /metadata\.name: .* must match the service account name/);
  });

  async function ask(spec: object, changed: Partial<TokenRequestOptions> = {}) {
    const answer: any = await tokenRequest({ ...optionsOf(), ...changed }).handle({
      object: { metadata: {}, spec: { audiences: [], expirationSeconds: 3600, ...spec } },
      request: { namespace: "ns", name: "app", resource: { group: "", plural: "serviceaccounts" } },
      dryRun: false,
      context: { now },
      warn: (text: string) => void warnings.push(text),
    } as any);
    return { ...answer, claims: unverifiedClaims(answer.status.token) as any };
  }

  it("return a token that a replica with the same key accepts", async () => {
    const { status, spec, claims } = await ask({});
    assert.deepEqual([spec.audiences, claims.aud], [[issuer], [issuer]]);
    assert.deepEqual([claims.exp, claims.nbf], [now / 1000 + 3600, now / 1000]);
    assert.equal(status.expirationTimestamp, "2026-01-01T01:00:00Z");
    const otherKey = parseSigningKey(await generateSigningKey("RS256"));
    const other = new ServiceAccountTokenAuthenticator({
      issuers: ["https://new.example.org", issuer],
      verifyingKeys: () => [otherKey, key],
      read,
      labelSecret: () => undefined,
      clock: { now: () => now } as any,
      domain: kubernetes,
    });
    const owner = await other.authenticateToken(status.token, [issuer]);
    assert.equal(owner?.user.name, "system:serviceaccount:ns:app");
  });

  it("are limited to the maximum validity of the server", async () => {
    const { claims, spec } = await ask({ expirationSeconds: 86_400 }, { maxSeconds: 7200 });
    assert.deepEqual([spec.expirationSeconds, claims.exp], [7200, now / 1000 + 7200]);
    assert.deepEqual(warnings, ["requested expiration of 86400 seconds shortened to 7200 seconds"]);
    await assert.rejects(ask({ expirationSeconds: 599 }), /may not specify a duration less than/);
  });

  it("of pods are extended to a year, unless extension is disabled", async () => {
    const ref = { kind: "Pod", apiVersion: "v1", name: "p" };
    const spec = { expirationSeconds: 3607, boundObjectRef: ref };
    const year = 365 * 24 * 3600;
    const { claims, status } = await ask(spec);
    assert.equal(claims.exp, now / 1000 + year);
    assert.equal(claims[kubernetes.label].warnafter, now / 1000 + 3607);
    assert.equal(status.expirationTimestamp, "2026-01-01T01:00:07Z");
    assert.equal((await ask(spec, { extends: false })).claims.exp, now / 1000 + 3607);
    const elsewhere = await ask({ ...spec, audiences: ["vault"] });
    assert.equal(elsewhere.claims.exp, now / 1000 + 3607);
  });
});
