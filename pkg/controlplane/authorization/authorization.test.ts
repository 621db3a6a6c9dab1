import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { ConfigurationFault } from "#meta";
import { type Clock, systemClock } from "#base";
import { startServer } from "../index.ts";

const refused = 'pods is forbidden: User "u" cannot list resource "pods" in API group "" at the';

describe("servers with an authorization webhook", () => {
  let folder: string;
  let hook: Server;
  let heard: any[];
  let file: string;

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-webhook-"));
    heard = [];
    hook = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        const review = JSON.parse(body);
        heard.push(review);
        const { user, resourceAttributes } = review.spec;
        const allowed = user === "u" && resourceAttributes?.verb === "list";
        const denied = user === "blocked";
        response.end(JSON.stringify({ status: { allowed, denied, reason: `it was ${user}` } }));
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    const { port } = hook.address() as AddressInfo;
    file = path.join(folder, "hook.json");
    const cluster = { name: "c", cluster: { server: `http://127.0.0.1:${port}/` } };
    writeFileSync(file, JSON.stringify({ clusters: [cluster] }));
  });
  afterEach(() => {
    hook.closeAllConnections();
    hook.close();
    rmSync(folder, { recursive: true, force: true });
  });

  type Running = Awaited<ReturnType<typeof startServer>>;

  async function listing(server: Running, user: string): Promise<readonly [number, string]> {
    const answer = await server.fetch("/api/v1/pods", { headers: { "impersonate-user": user } });
    const text = await answer.text();
    return [answer.status, text.startsWith("{") ? JSON.parse(text).message : text];
  }

  function configuration(...authorizers: readonly object[]): string {
    const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n";
    return `${head}authorizers: ${JSON.stringify(authorizers)}\n`;
  }
  const webhook = (changes: object = {}) => ({
    type: "Webhook",
    name: "hook",
    webhook: {
      timeout: "3s",
      subjectAccessReviewVersion: "v1",
      failurePolicy: "NoOpinion",
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile: file },
      ...changes,
    },
  });
  const rbac = { type: "RBAC", name: "rbac" };

  it("authorize by --authorization-mode=Webhook", async () => {
    const server = await startServer({
      controllers: false,
      authorization: ["Webhook", "RBAC"],
      authorizationWebhook: { kubeconfigFile: file, version: "v1" },
    });
    assert.equal((await listing(server, "u"))[0], 200);
    const [status, message] = await listing(server, "blocked");
    assert.equal(status, 403);
    assert.match(message, /: it was blocked$/);
    const { spec } = heard[0];
    assert.deepEqual(spec.groups, ["system:authenticated"]);
    await server.close();
  });

  it("reject --authorization-mode=Webhook without a kubeconfig", async () => {
    for (const authorizationWebhook of [undefined, { kubeconfigFile: `${file}.none` }]) {
      const asking = { authorization: ["Webhook"] as const, controllers: false };
      const options = { ...asking, ...(authorizationWebhook && { authorizationWebhook }) };
      await assert.rejects(startServer(options), ConfigurationFault);
    }
  });

  it("reload the AuthorizationConfiguration, and keep the last valid one", async () => {
    const conditions = {
      matchConditionSubjectAccessReviewVersion: "v1",
      matchConditions: [{ expression: "request.user != 'u'" }],
    };
    const own = path.join(folder, "authorization.yaml");
    writeFileSync(own, configuration(webhook(conditions), rbac));
    const told: string[] = [];
    const sleepers = new Set<() => void>();
    // Files are checked every two seconds.
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal, options) => {
        if (ms !== 2_000) return systemClock.sleep(ms, signal, options);
        return new Promise((resolve, reject) => {
          sleepers.add(resolve);
          signal?.addEventListener("abort", reject, { once: true });
        });
      },
    };
    const server = await startServer({
      controllers: false,
      clock,
      authorizationConfiguration: { file: own },
      report: (what, error) => told.push(`${what}: ${String(error)}`),
    });
    /** Writes the file and waits until the change has taken effect. */
    const follow = async (changed: string, shows: () => Promise<boolean>) => {
      writeFileSync(own, changed);
      while (!(await shows())) {
        for (const wake of sleepers) wake();
        sleepers.clear();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const says = async (code: number) => (await listing(server, "u"))[0] === code;
    const [status, message] = await listing(server, "u");
    assert.equal(status, 403);
    assert.ok(message.startsWith(refused), message);
    assert.deepEqual(heard, []);

    await follow("nonsense", async () => told.length === 1);
    await follow(configuration(webhook()), async () => told.length === 2);
    assert.ok(await says(403));
    assert.match(told[0]!, /^Failed to reload \/.*: ConfigurationFault: expected apiVersion/);
    assert.match(told[1]!, /authorizers other than webhooks cannot be added or removed/);

    await follow(configuration(webhook(), rbac), () => says(200));
    await follow(configuration(rbac), () => says(403));
    await server.close();
  });
});

describe("servers with an ABAC policy", () => {
  it("authorize by the policy file, also in SelfSubjectRulesReviews", async () => {
    const policy = (spec: object): string =>
      JSON.stringify({
        apiVersion: "abac.authorization.kubernetes.io/v1beta1",
        kind: "Policy",
        spec,
      });
    const server = await startServer({
      controllers: false,
      authorization: ["ABAC", "RBAC"],
      authorizationPolicies: [
        "# who reads",
        policy({
          user: "reader",
          readonly: true,
          namespace: "default",
          resource: "*",
          apiGroup: "",
        }),
        policy({ group: "ops", namespace: "*", resource: "*", apiGroup: "*" }),
        policy({ user: "both", group: "ops", nonResourcePath: "/logs*" }),
        '{"user":"old","namespace":"one"}',
      ].join("\n"),
    });
    try {
      const codeOf = async (
        user: string,
        path: string,
        method = "GET",
        group = "",
      ): Promise<number> => {
        const headers: Record<string, string> = {
          "impersonate-user": user,
          "content-type": "application/json",
          ...(group === "" ? {} : { "impersonate-group": group }),
        };
        const body = method === "POST" ? { body: "{" } : {};
        return (await server.fetch(path, { method, headers, ...body })).status;
      };
      const maps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
      assert.equal(await codeOf("reader", maps("default")), 200);
      assert.equal(await codeOf("reader", maps("default"), "POST"), 403);
      assert.equal(await codeOf("reader", maps("other")), 403);
      assert.equal(await codeOf("reader", "/apis/apps/v1/namespaces/default/deployments"), 403);
      assert.equal(await codeOf("any", maps("other"), "POST", "ops"), 400);
      assert.equal(await codeOf("both", "/logs/x"), 403);
      assert.equal(await codeOf("both", "/logs/x", "GET", "ops"), 404);
      assert.equal(await codeOf("old", maps("one"), "POST"), 400);
      const review = await server.fetch("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        method: "POST",
        headers: { "impersonate-user": "reader", "content-type": "application/json" },
        body: '{"spec":{"namespace":"default"}}',
      });
      const { resourceRules } = ((await review.json()) as any).status;
      const rule = { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["*"] };
      assert.deepEqual(resourceRules[0], rule);
    } finally {
      await server.close();
    }
  });

  it("do not start without a policy file or with an invalid one", async () => {
    const starting = (authorizationPolicies?: string): Promise<unknown> =>
      startServer({
        authorization: ["ABAC"],
        ...(authorizationPolicies === undefined ? {} : { authorizationPolicies }),
      });
    await assert.rejects(starting(), /ABAC's authorization policy file not passed/);
    await assert.rejects(starting("\n{"), /authorization-policy-file: line 2: \{: /);
    await assert.rejects(
      starting('{"apiVersion":"x/v1","kind":"Policy"}'),
      /no kind Policy is known/,
    );
  });
});
