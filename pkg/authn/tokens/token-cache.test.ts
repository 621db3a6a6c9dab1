import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { type MetricLabels, noInstruments, type WebhookClient, WebhookFault } from "#request";
import { TokenCache } from "./token-cache.ts";
import { TokenCacheMetrics } from "./token-cache-metrics.ts";
import { WebhookTokenAuthenticator } from "./token-webhook.ts";
import { InvalidTokenError, type TokenIdentity } from "./token-authenticator.ts";

describe("the token cache", () => {
  let now = 0;
  let asked: string[];
  let answer: () => Promise<TokenIdentity | undefined>;
  const clock = { monotonic: () => now } as any;
  const alice = { user: { name: "alice", uid: "", groups: [], extra: new Map() } };
  let tokens: TokenCache;
  let told: string[];

  beforeEach(() => {
    asked = [];
    answer = async () => alice;
    const inner = {
      authenticateToken: (token: string, audiences: readonly string[]) => {
        asked.push(`${token} ${audiences.join("+")}`);
        return answer();
      },
    };
    told = [];
    const tell = (metric: string, { status }: MetricLabels, value: number) =>
      void told.push(`${metric.replace("authentication_token_cache_", "")} ${status} ${value}`);
    const instruments = { ...noInstruments, add: tell, set: tell };
    const metrics = new TokenCacheMetrics(instruments);
    tokens = new TokenCache(inner, { clock, metrics, goodMs: 1000, badMs: 100 });
  });

  it("are cached for the TTL, per audiences", async () => {
    await tokens.authenticateToken("t", ["a"]);
    now += 999;
    assert.equal(await tokens.authenticateToken("t", ["a"]), alice);
    assert.deepEqual(asked, ["t a"]);
    await tokens.authenticateToken("t", ["b"]);
    now += 1;
    await tokens.authenticateToken("t", ["a"]);
    assert.deepEqual(asked, ["t a", "t b", "t a"]);
  });

  it("are authenticated once for concurrent requests", async () => {
    await Promise.all([1, 2, 3].map(() => tokens.authenticateToken("t", [])));
    assert.equal(asked.length, 1);
  });

  it("are counted in metrics, with the duration of the request", async () => {
    await Promise.all([tokens.authenticateToken("t", []), tokens.authenticateToken("t", [])]);
    await tokens.authenticateToken("t", []);
    answer = () => Promise.reject(new InvalidTokenError("expired"));
    await assert.rejects(async () => tokens.authenticateToken("u", []), InvalidTokenError);
    const count = (line: string) => told.filter((each) => each === line).length;
    assert.equal(count("request_total miss 1"), 3);
    assert.equal(count("request_total hit 1"), 1);
    assert.deepEqual([count("fetch_total ok 1"), count("fetch_total error 1")], [1, 1]);
    assert.equal(count("active_fetch_count blocked 2"), 1);
    const last = (start: string) => told.findLast((each) => each.startsWith(start));
    for (const state of ["active_fetch_count blocked", "active_fetch_count in_flight"]) {
      assert.equal(last(state), `${state} 0`);
    }
  });

  it("that are unknown expire from the cache sooner", async () => {
    answer = async () => undefined;
    await tokens.authenticateToken("t", []);
    now += 99;
    assert.equal(await tokens.authenticateToken("t", []), undefined);
    assert.equal(asked.length, 1);
    now += 1;
    answer = async () => alice;
    assert.equal(await tokens.authenticateToken("t", []), alice);
  });

  it("are authenticated again after an error", async () => {
    answer = () => Promise.reject(new InvalidTokenError("expired"));
    await assert.rejects(async () => tokens.authenticateToken("t", []), InvalidTokenError);
    await assert.rejects(async () => tokens.authenticateToken("t", []), InvalidTokenError);
    assert.equal(asked.length, 2);
  });
});

describe("the token webhook", () => {
  let sent: any[];
  let reported: unknown[];

  beforeEach(() => {
    sent = [];
    reported = [];
  });

  function ask(answer: unknown, audiences: readonly string[] = ["api"]) {
    const client: WebhookClient = {
      post: async (body) => {
        sent.push(body);
        if (answer instanceof Error) throw answer;
        return answer;
      },
      send: async () => undefined,
      close: () => undefined,
    };
    const report = (error: unknown) => void reported.push(error);
    const options = { client, domain: kubernetes, version: "v1", report } as const;
    return new WebhookTokenAuthenticator(options).authenticateToken("secret", audiences);
  }

  const user = {
    username: "u",
    uid: "1",
    groups: ["g"],
    extra: { k: ["v"], ["__proto__"]: ["w"] },
  };
  const good = { authenticated: true, user };

  it("receives a TokenReview, and its response identifies the user", async () => {
    const extra = new Map([
      ["k", ["v"]],
      ["__proto__", ["w"]],
    ]);
    assert.deepEqual(await ask({ status: good }), {
      user: { name: "u", uid: "1", groups: ["g"], extra },
    });
    assert.deepEqual(sent[0].spec, { token: "secret", audiences: ["api"] });
    assert.equal(sent[0].apiVersion, `authentication.${kubernetes.api}/v1`);
  });

  it("authenticates for the requested audiences", async () => {
    const named = { ...good, audiences: ["api", "other"] };
    assert.deepEqual((await ask({ status: named }))?.audiences, ["api"]);
    assert.equal(await ask({ status: named }, ["third"]), undefined);
  });

  it("is not trusted with an incomplete response", async () => {
    const odd = [
      null,
      "yes",
      [],
      {},
      { status: null },
      { status: { authenticated: "true", user } },
    ];
    for (const answer of odd) assert.equal(await ask(answer), undefined, JSON.stringify(answer));
    const shapeless = { authenticated: true, user: { username: 1, groups: "g", extra: [] } };
    const found = await ask({ status: shapeless });
    assert.deepEqual(found?.user, { name: "", uid: "", groups: [], extra: new Map() });
  });

  it("reports an error in the status as an invalid token, and logs a failed call", async () => {
    await assert.rejects(
      ask({ status: { error: "locked out" } }),
      /^InvalidTokenError: locked out$/,
    );
    assert.equal(reported.length, 0);
    await assert.rejects(ask(new WebhookFault("Post: no", 500, false)), InvalidTokenError);
    assert.equal(reported.length, 1);
  });
});
