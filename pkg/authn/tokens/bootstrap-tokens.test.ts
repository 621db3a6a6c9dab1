import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { BootstrapTokenAuthenticator } from "./bootstrap-tokens.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const good = {
  "token-id": "abcdef",
  "token-secret": "0123456789abcdef",
  "usage-bootstrap-authentication": "true",
};

function ask(token: string, data: Readonly<Record<string, string>>, type = "token") {
  const encoded = Object.entries(data).map(([key, text]) => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  const secret = {
    metadata: {},
    type: `bootstrap.${kubernetes.label}/${type}`,
    data: Object.fromEntries(encoded),
  };
  const clock = { now: () => now } as any;
  const tokens = new BootstrapTokenAuthenticator({
    clock,
    domain: kubernetes,
    read: async ({ namespace, name }) =>
      namespace === "kube-system" && name === "bootstrap-token-abcdef" ? secret : undefined,
  });
  return tokens.authenticateToken(token);
}

describe("bootstrap tokens", () => {
  const token = "abcdef.0123456789abcdef";

  it("identify the user by token ID, with sorted groups", async () => {
    const groups = "system:bootstrappers:z,system:bootstrappers:a";
    const found = await ask(token, { ...good, "auth-extra-groups": groups });
    assert.equal(found?.user.name, "system:bootstrap:abcdef");
    assert.deepEqual(found?.user.groups, [
      "system:bootstrappers",
      "system:bootstrappers:a",
      "system:bootstrappers:z",
    ]);
  });

  it("are valid until they expire", async () => {
    assert.ok(await ask(token, { ...good, expiration: "2026-01-01T00:00:01Z" }));
    assert.equal(await ask(token, { ...good, expiration: "2026-01-01T00:00:00Z" }), undefined);
  });

  const refused: readonly (readonly [string, string, Readonly<Record<string, string>>, string?])[] =
    [
      ["another secret", "abcdef.0123456789abcdee", good],
      ["a short secret", "abcdef.0123456789abcde", good],
      ["capital letters", "abcdef.0123456789ABCDEF", good],
      ["an unknown id", "000000.0123456789abcdef", good],
      ["another id inside", token, { ...good, "token-id": "zzzzzz" }],
      ["another type", token, good, "other"],
      ["no usage", token, { ...good, "usage-bootstrap-authentication": "True" }],
      ["an unreadable expiry", token, { ...good, expiration: "tomorrow" }],
      ["a group of masters", token, { ...good, "auth-extra-groups": "system:masters" }],
      ["an empty group", token, { ...good, "auth-extra-groups": "system:bootstrappers:a," }],
    ];
  for (const [what, text, data, type] of refused) {
    it(`are rejected with ${what}`, async () => {
      assert.equal(await ask(text, data, type), undefined);
    });
  }
});
