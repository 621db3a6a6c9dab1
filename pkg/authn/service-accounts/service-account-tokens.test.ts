import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { signToken } from "../jwt/jwt.ts";
import { ServiceAccountTokenAuthenticator } from "./service-account-tokens.ts";
import { generateSigningKey, parseSigningKey, type SigningKey } from "../jwt/signing-keys.ts";
import { InvalidTokenError } from "../tokens/token-authenticator.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const issuer = "https://issuer.example.org";

describe("service account tokens", () => {
  let signer: SigningKey;
  let now: number;
  /** `plural namespace/name` -> uid. */
  let stored: Map<string, string>;
  let tokens: ServiceAccountTokenAuthenticator;
  let secret: { data: Record<string, string>; labels: Record<string, string> } | undefined;
  let labelled: [string, string][];

  before(async () => {
    signer = parseSigningKey(await generateSigningKey("ES256"));
  });

  beforeEach(() => {
    now = start;
    secret = undefined;
    labelled = [];
    stored = new Map([
      ["serviceaccounts ns/app", "account-uid"],
      ["pods ns/p", "pod-uid"],
    ]);
    tokens = new ServiceAccountTokenAuthenticator({
      issuers: [issuer],
      verifyingKeys: () => [signer],
      clock: { now: () => now, sleep: () => new Promise(() => undefined) } as any,
      domain: kubernetes,
      labelSecret: (_secret, { key, value }) => void labelled.push([key, value]),
      read: async ({ plural, namespace, name }) => {
        if (plural === "secrets" && secret !== undefined) {
          return { metadata: { namespace, name, labels: secret.labels }, data: secret.data };
        }
        const uid = stored.get(`${plural} ${namespace}/${name}`);
        return uid === undefined ? undefined : { metadata: { name, uid } };
      },
    });
  });

  function token(changed: object = {}, own: object = {}): string {
    const seconds = start / 1000;
    const account = { name: "app", uid: "account-uid" };
    return signToken(
      {
        iss: issuer,
        sub: "system:serviceaccount:ns:app",
        aud: ["api"],
        nbf: seconds,
        exp: seconds + 600,
        jti: "id",
        [kubernetes.label]: { namespace: "ns", serviceaccount: account, ...own },
        ...changed,
      },
      signer,
    );
  }

  function legacyToken(changed: object = {}): string {
    const key = (name: string) => `${kubernetes.label}/serviceaccount/${name}`;
    return signToken(
      {
        iss: "kubernetes/serviceaccount",
        sub: "system:serviceaccount:ns:app",
        [key("namespace")]: "ns",
        [key("service-account.name")]: "app",
        [key("service-account.uid")]: "account-uid",
        [key("secret.name")]: "s",
        ...changed,
      },
      signer,
    );
  }

  const ask = (text: string) => tokens.authenticateToken(text, ["api"]);
  const refused = (text: string, message: RegExp) =>
    assert.rejects(ask(text), (error: unknown) => {
      assert.ok(error instanceof InvalidTokenError);
      assert.match(error.message, message);
      return true;
    });

  it("identify the service account, its groups and the pod", async () => {
    const found = await ask(token({}, { pod: { name: "p", uid: "pod-uid" } }));
    assert.equal(found?.user.name, "system:serviceaccount:ns:app");
    assert.deepEqual(found?.user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
    assert.deepEqual(Object.fromEntries(found!.user.extra), {
      [`authentication.${kubernetes.label}/credential-id`]: ["JTI=id"],
      [`authentication.${kubernetes.label}/pod-name`]: ["p"],
      [`authentication.${kubernetes.label}/pod-uid`]: ["pod-uid"],
    });
  });

  it("of another issuer or subject are ignored", async () => {
    assert.equal(await ask(token({ iss: "https://elsewhere.example.org" })), undefined);
    assert.equal(await ask(token({ sub: "system:serviceaccount:ns:other" })), undefined);
    assert.equal(await ask("no.such.token"), undefined);
  });

  it("are limited to their audiences and validity", async () => {
    await refused(token({ aud: ["vault"] }), /^token audiences \["vault"\] is invalid/);
    await refused(token({ exp: start / 1000 }), /has expired/);
    await refused(token({ nbf: start / 1000 + 1 }), /not valid yet/);
  });

  it("become invalid when the account or the pod is deleted or recreated", async () => {
    const bound = token({}, { pod: { name: "p", uid: "pod-uid" } });
    stored.set("pods ns/p", "new-uid");
    await refused(bound, /^pod UID \(new-uid\) does not match/);
    stored.delete("pods ns/p");
    await refused(bound, /has been invalidated/);
    stored.set("serviceaccounts ns/app", "new-uid");
    await refused(token(), /^service account UID \(new-uid\) does not match/);
    stored.delete("serviceaccounts ns/app");
    await refused(token(), /^serviceaccounts "app" not found/);
  });

  it("in Secrets are valid while stored, and set the label of the last use", async () => {
    const old = legacyToken();
    secret = { data: { token: Buffer.from(old).toString("base64") }, labels: {} };
    const owner = await ask(old);
    assert.equal(owner?.user.name, "system:serviceaccount:ns:app");
    const remark = [`authentication.${kubernetes.api}/legacy-token`, owner.user.name];
    assert.deepEqual([...(owner.user.remarks ?? [])], [remark]);
    assert.deepEqual(labelled, [[`${kubernetes.label}/legacy-token-last-used`, "2026-01-01"]]);
    secret.labels = { [`${kubernetes.label}/legacy-token-last-used`]: "2026-01-01" };
    assert.ok(await ask(old));
    assert.equal(labelled.length, 1);
    secret.labels = { [`${kubernetes.label}/legacy-token-invalid-since`]: "2025-12-31" };
    await refused(old, /^the token in secret ns\/s for service account ns\/app has been marked/);
    secret.data = { token: "b3RoZXI=" };
    await refused(old, /has been invalidated/);
    assert.equal(await ask(legacyToken({ sub: "system:serviceaccount:ns:other" })), undefined);
  });
});
