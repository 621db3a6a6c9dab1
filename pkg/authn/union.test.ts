import assert from "node:assert/strict";
import { kubernetes, StatusError, unauthorized } from "#meta";
import type { Authenticator } from "#request";
import { sent } from "./testing.ts";
import { TokenFileAuthenticator } from "./tokens/token-file.ts";
import { UnionTokenAuthenticator } from "./tokens/token-authenticator.ts";
import { UnionAuthenticator } from "./union.ts";

const bearer = (...values: string[]) => sent({ authorization: values });
const is401 = (error: unknown) => error instanceof StatusError && error.code === 401;

describe("UnionAuthenticator", () => {
  const tokenFile = new TokenFileAuthenticator('secret,alice,u1,"devs,ops"');
  const authenticators = [new UnionTokenAuthenticator([tokenFile], ["api"], kubernetes)];
  const union = new UnionAuthenticator({ authenticators, anonymous: () => true });

  for (const [header, name] of [
    ["Bearer secret", "alice"],
    ["bEaReR secret", "alice"],
    ["  Bearer secret  ", "alice"],
    ["Bearer secret more", "alice"],
    ["Bearer", "system:anonymous"],
    ["Bearer ", "system:anonymous"],
    ["Bearer  secret", "system:anonymous"],
    ["Basic c2VjcmV0", "system:anonymous"],
    ["secret", "system:anonymous"],
    ["", "system:anonymous"],
  ] as const) {
    it(`authenticates ${JSON.stringify(header)} as ${name}`, async () => {
      assert.equal((await union.authenticate(bearer(header))).name, name);
    });
  }

  it("adds the groups of the token file and system:authenticated", async () => {
    const { groups } = await union.authenticate(bearer("Bearer secret"));
    assert.deepEqual(groups, ["devs", "ops", "system:authenticated"]);
  });

  it("rejects an unknown token, and two Authorization headers", async () => {
    await assert.rejects(async () => union.authenticate(bearer("Bearer wrong")), is401);
    await assert.rejects(
      async () => union.authenticate(bearer("Bearer secret", "Bearer secret")),
      is401,
    );
  });

  it("rejects requests without credentials if anonymous access is disabled", async () => {
    const strict = new UnionAuthenticator({
      authenticators,
      anonymous: (path) => path === "/healthz",
    });
    await assert.rejects(async () => strict.authenticate(sent({ path: "/api" })), is401);
    await assert.rejects(async () => strict.authenticate(sent({ path: "/healthz/" })), is401);
    assert.equal((await strict.authenticate(sent({ path: "/healthz" }))).name, "system:anonymous");
  });

  it("tries the next authenticator after a rejection, and rejects if none accepts", async () => {
    const refusing: Authenticator = { authenticate: () => Promise.reject(unauthorized()) };
    const both = new UnionAuthenticator({
      authenticators: [refusing, ...authenticators],
      anonymous: () => true,
    });
    assert.equal((await both.authenticate(bearer("Bearer secret"))).name, "alice");
    await assert.rejects(async () => both.authenticate(sent({})), is401);
  });

  it("accepts the token of a browser's WebSocket, which requires another subprotocol", async () => {
    const prefix = `base64url.bearer.authorization.${kubernetes.api}.`;
    const token = `${prefix}${Buffer.from("secret").toString("base64url")}`;
    const ask = async (protocols: string, more: Readonly<Record<string, string>> = {}) => {
      const upgrade = { connection: "keep-alive, Upgrade", upgrade: "WebSocket" };
      const headers = { ...upgrade, "sec-websocket-protocol": protocols, ...more };
      return union.authenticate(sent({ headers }));
    };
    assert.equal((await ask(`v4.channel, ${token}`)).name, "alice");
    assert.equal((await ask(`v4.channel,${prefix}`)).name, "system:anonymous");
    assert.equal((await ask(`x,${token}`, { upgrade: "h2c" })).name, "system:anonymous");
    for (const bad of [token, `x,${token},${token}`, `x,${prefix}c2VjcmV0=`, `x,${prefix}_w`]) {
      await assert.rejects(ask(bad), is401, bad);
    }
  });
});
