import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { type MetricLabels, noInstruments, type WebhookClient, WebhookFault } from "#request";
import { TokenCache } from "./token-cache.ts";
import { TokenCacheMetrics } from "./token-cache-metrics.ts";
import { WebhookTokenAuthenticator } from "./token-webhook.ts";
import { InvalidTokenError, type TokenIdentity } from "./token-authenticator.ts";

describe("tokens in the TokenCache", () => {
  let now = 0;
  let calls: string[];
  let respond: () => Promise<TokenIdentity | undefined>;
  const clock = { monotonic: () => now } as any;
  const alice = { user: { name: "alice", uid: "", groups: [], extra: new Map() } };
  let tokens: TokenCache;
  let recorded: string[];

  beforeEach(() => {
    calls = [];
    respond = async () => alice;
    const inner = {
      authenticateToken: (token: string, audiences: readonly string[]) => {
        calls.push(`${token} ${audiences.join("+")}`);
        return respond();
      },
    };
    recorded = [];
    const record = (metric: string, { status }: MetricLabels, value: number) =>
      void recorded.push(`${metric.replace("authentication_token_cache_", "")} ${status} ${value}`);
    const instruments = { ...noInstruments, add: record, set: record };
    const metrics = new TokenCacheMetrics(instruments);
    tokens = new TokenCache(inner, { clock, metrics, successTtlMs: 1000, failureTtlMs: 100 });
  });

  it("are cached for the TTL, per audiences", async () => {
    await tokens.authenticateToken("t", ["a"], {});
    now += 999;
    assert.equal(await tokens.authenticateToken("t", ["a"], {}), alice);
    assert.deepEqual(calls, ["t a"]);
    await tokens.authenticateToken("t", ["b"], {});
    now += 1;
    await tokens.authenticateToken("t", ["a"], {});
    assert.deepEqual(calls, ["t a", "t b", "t a"]);
  });

  it("are authenticated once if requests are concurrent", async () => {
    await Promise.all([1, 2, 3].map(() => tokens.authenticateToken("t", [], {})));
    assert.equal(calls.length, 1);
  });

  it("are counted in metrics, with the duration of the request", async () => {
    await Promise.all([
      tokens.authenticateToken("t", [], {}),
      tokens.authenticateToken("t", [], {}),
    ]);
    await tokens.authenticateToken("t", [], {});
    respond = () => Promise.reject(new InvalidTokenError("expired"));
    await assert.rejects(async () => tokens.authenticateToken("u", [], {}), InvalidTokenError);
    const count = (line: string) => recorded.filter((each) => each === line).length;
    assert.equal(count("request_total miss 1"), 3);
    assert.equal(count("request_total hit 1"), 1);
    assert.deepEqual([count("fetch_total ok 1"), count("fetch_total error 1")], [1, 1]);
    assert.equal(count("active_fetch_count blocked 2"), 1);
    const last = (start: string) => recorded.findLast((each) => each.startsWith(start));
    for (const state of ["active_fetch_count blocked", "active_fetch_count in_flight"]) {
      assert.equal(last(state), `${state} 0`);
    }
  });

  it("expire by the failure TTL if unknown", async () => {
    respond = async () => undefined;
    await tokens.authenticateToken("t", [], {});
    now += 99;
    assert.equal(await tokens.authenticateToken("t", [], {}), undefined);
    assert.equal(calls.length, 1);
    now += 1;
    respond = async () => alice;
    assert.equal(await tokens.authenticateToken("t", [], {}), alice);
  });

  it("are not cached after an error", async () => {
    respond = () => Promise.reject(new InvalidTokenError("expired"));
    await assert.rejects(async () => tokens.authenticateToken("t", [], {}), InvalidTokenError);
    await assert.rejects(async () => tokens.authenticateToken("t", [], {}), InvalidTokenError);
    assert.equal(calls.length, 2);
  });
});

describe("WebhookTokenAuthenticator", () => {
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
    return new WebhookTokenAuthenticator(options).authenticateToken("secret", audiences, {});
  }

  const user = {
    username: "u",
    uid: "1",
    groups: ["g"],
    extra: { k: ["v"], ["__proto__"]: ["w"] },
  };
  const good = { authenticated: true, user };

  it("sends a TokenReview, and takes the user from the response", async () => {
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

  it("intersects the audiences of the response with the requested ones", async () => {
    const named = { ...good, audiences: ["api", "other"] };
    assert.deepEqual((await ask({ status: named }))?.audiences, ["api"]);
    assert.equal(await ask({ status: named }, ["third"]), undefined);
  });

  it("does not authenticate for an incomplete response", async () => {
    for (const answer of [{}, { status: null }, { status: { user } }]) {
      assert.equal(await ask(answer), undefined, JSON.stringify(answer));
    }
  });

  it("throws the error of the status, and also reports a failed call", async () => {
    await assert.rejects(
      ask({ status: { error: "locked out" } }),
      /^InvalidTokenError: locked out$/,
    );
    assert.equal(reported.length, 0);
    await assert.rejects(ask(new WebhookFault("Post: no", 500, false)), InvalidTokenError);
    assert.equal(reported.length, 1);
  });
});
