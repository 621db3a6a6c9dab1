import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { silentLogger, systemClock } from "#base";
import { Catalog, domainOf, notFound } from "#meta";
import { AuditFault, type AuditedResponse, type AuditTrail, type User } from "#request";
import { createServer, type ServerOptions } from "../index.ts";

const user: User = { name: "ada", uid: "", groups: [], extra: new Map() };
const failure = notFound({ group: "", plural: "configmaps" }, "a");

/** What a trail heard, one line per call. */
async function heard(get: () => Promise<never>, refuses = false): Promise<readonly string[]> {
  const lines: string[] = [];
  const trail: AuditTrail = {
    includesResponse: false,
    annotate: () => undefined,
    annotateContent: () => undefined,
    sent: () => undefined,
    responseStatus: ({ code }) => void lines.push(`status ${code}`),
    actsAs: () => undefined,
    queued: () => undefined,
    received: () => (refuses ? Promise.reject(new AuditFault("no room")) : undefined),
    started: (code) => void lines.push(`started ${code}`),
    completed: async ({ code }: AuditedResponse) => void lines.push(`completed ${code}`),
    panicked: async (message) => void lines.push(`panicked ${message}`),
  };
  const server = createServer({
    catalog: new Catalog(builtinKinds, domainOf()),
    registry: { get } as unknown as ServerOptions["registry"],
    authenticator: { authenticate: async () => user },
    authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
    auditor: { begin: () => trail },
    logger: silentLogger,
  });
  const url = "/api/v1/namespaces/n/configmaps/a";
  const response = await server.handle({ method: "GET", url });
  let text = "";
  for await (const piece of response.body) text += Buffer.from(piece).toString("utf8");
  return [...lines, `answered ${response.status} ${text.split("\n")[0]!.slice(0, 99)}`];
}

describe("the audit event of a request", () => {
  it("completes with a Status, and panics for unexpected exceptions", async () => {
    const failed = await heard(() => Promise.reject(failure));
    assert.deepEqual(failed.slice(0, -1), ["status 404", "completed 404"]);
    const broken = await heard(() => Promise.reject(new TypeError("oops")));
    assert.deepEqual(broken.slice(0, -1), ["panicked oops"]);
    assert.match(broken.at(-1)!, /^answered 500 /);
  });

  it("fails the request with 500 if a blocking backend cannot write it", async () => {
    const refused = await heard(() => assert.fail("the request must not be served"), true);
    const path = '"/api/v1/namespaces/n/configmaps/a"';
    assert.deepEqual(refused, [`answered 500 Internal Server Error: ${path}: no room`]);
  });
});

describe("the start of a server", () => {
  it("fails readyz immediately, and livez only after its grace period", async () => {
    let now = 0;
    const server = createServer({
      catalog: new Catalog(builtinKinds, domainOf()),
      registry: {} as ServerOptions["registry"],
      authenticator: { authenticate: async () => user },
      authorizer: { authorize: async () => ({ verdict: "allow", reason: "" }) },
      clock: { ...systemClock, monotonic: () => now },
      livezGraceMs: 1000,
      health: [
        {
          name: "poststarthook/slow",
          check: () => {
            throw new Error("not finished");
          },
        },
      ],
    });
    const status = async (url: string) => (await server.handle({ method: "GET", url })).status;
    assert.equal(await status("/livez"), 200);
    assert.equal(await status("/readyz"), 500);
    assert.equal(await status("/healthz"), 500);
    now = 1000;
    assert.equal(await status("/livez"), 500);
    assert.equal(await status("/livez?exclude=poststarthook/slow"), 200);
  });
});
