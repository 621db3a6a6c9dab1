import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { InvalidTokenError } from "./token-authenticator.ts";
import { WebhookTokenAuthenticator } from "./token-webhook.ts";

describe("the token webhook's answer", () => {
  const authenticate = (answer: unknown) =>
    new WebhookTokenAuthenticator({
      client: { post: async () => answer, send: async () => {}, close: () => {} },
      domain: kubernetes,
      version: "v1",
      report: () => {},
    }).authenticateToken("t", ["api"], {});
  const typed = { kind: "TokenReview", apiVersion: "authentication.k8s.io/v1" };
  const status = { authenticated: true, user: { username: "ann" } };
  const withUser = (more: object) => ({
    status: { ...status, user: { username: "ann", ...more } },
  });

  it("authenticates with unknown fields and nulls", async () => {
    const answer = {
      ...typed,
      x: 1,
      status: { ...status, user: { username: "ann", groups: null } },
    };
    assert.equal((await authenticate(answer))?.user.name, "ann");
  });

  const hostile: readonly unknown[] = [
    null,
    [],
    5,
    { ...typed, kind: "SubjectAccessReview", status },
    { ...typed, apiVersion: "authentication.k8s.io/v2", status },
    { status: "authenticated" },
    { status: { ...status, authenticated: "true" } },
    { status: { ...status, audiences: "api" } },
    { status: { ...status, error: 5 } },
    withUser({ username: 5 }),
    withUser({ uid: {} }),
    withUser({ groups: "admins" }),
    withUser({ groups: [5] }),
    withUser({ extra: [] }),
    withUser({ extra: { k: "v" } }),
  ];
  for (const answer of hostile) {
    it(`is an error for ${JSON.stringify(answer)}`, async () => {
      await assert.rejects(authenticate(answer), InvalidTokenError);
    });
  }
});
