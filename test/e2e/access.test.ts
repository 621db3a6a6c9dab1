/**
 * Authorization through stock clients: kubectl with each kind of credential, client certificates made
 * with openssl, revocation, and access reviews compared with requests.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { Kubectl } from "./kubectl.ts";

describe("access, with kubectl", () => {
  let server: RunningServer;
  let kubectl: Kubectl;
  let authorities: string;

  before(async function () {
    if (!Kubectl.isThere) this.skip();
    authorities = mkdtempSync(path.join(tmpdir(), "keelson-access-"));
    server = await startServer({
      port: 0,
      certificateDirectory: authorities,
      tokens: 'alicetoken,alice,alice-uid,"devs"\n',
      bootstrapTokens: true,
      authorization: ["Node", "RBAC"],
      admissionPlugins: { enable: ["NodeRestriction"] },
    });
    kubectl = new Kubectl(server.kubeconfig);
    await ok("create namespace team");
    await ok("create configmap c1 -n team");
    await ok("create role reader -n team --verb=get,list --resource=configmaps");
    await ok("create rolebinding alice -n team --role=reader --user=alice");
  });
  after(async () => {
    await server?.close();
    kubectl?.[Symbol.dispose]();
    if (authorities) rmSync(authorities, { recursive: true, force: true });
  });

  const attempt = (words: string, input?: string) => kubectl.attempt(words, input);
  const ok = async (words: string, input?: string) => (await kubectl.ok(words, input)).trim();

  /** kubectl flags for a user whose client certificate openssl creates. */
  async function certified(name: string, subject: string): Promise<string> {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject];
    await kubectl.run("openssl", ["req", "-newkey", "rsa:2048", "-nodes", ...files]);
    const authority = ["-CA", `${authorities}/ca.crt`, "-CAkey", `${authorities}/ca.key`];
    const request = ["x509", "-req", "-in", `${name}.csr`, "-days", "1", "-out", `${name}.crt`];
    const signed = await kubectl.run("openssl", [...request, ...authority, "-CAcreateserial"]);
    assert.equal(signed.status, 0, signed.error);
    const url = `--server=${server.url} --insecure-skip-tls-verify --kubeconfig=/dev/null`;
    return `${url} --client-certificate=${name}.crt --client-key=${name}.key`;
  }

  /** Runs kubectl without the administrator's client certificate of the kubeconfig. */
  function withToken(token: string): string {
    const url = `--server=${server.url} --insecure-skip-tls-verify --kubeconfig=/dev/null`;
    return `${url} --token=${token}`;
  }

  it("kubectl auth can-i works for the user and with impersonation", async () => {
    assert.equal(await ok("auth can-i delete nodes"), "yes");
    assert.equal(await ok("auth can-i list configmaps -n team --as=alice"), "yes");
    const denied = await attempt("auth can-i delete configmaps -n team --as=alice");
    assert.deepEqual([denied.status, denied.out.trim()], [1, "no"]);
    const list = await ok("auth can-i --list -n team --as=alice");
    assert.match(list, /^configmaps +\[\] +\[\] +\[get list\]$/m);
  });

  it("kubectl auth whoami prints the user", async () => {
    assert.match(await ok("auth whoami"), /^Username +admin$/m);
    const alice = await ok(`auth whoami ${withToken("alicetoken")}`);
    assert.match(alice, /^Username +alice$/m);
    assert.match(alice, /^Groups +\[devs system:authenticated\]$/m);
  });

  it("prints kube-apiserver's message for a forbidden request", async () => {
    const { status, error } = await attempt(`get nodes ${withToken("alicetoken")}`);
    assert.equal(status, 1);
    assert.equal(
      error.trim(),
      'Error from server (Forbidden): nodes is forbidden: User "alice" cannot list resource ' +
        '"nodes" in API group "" at the cluster scope',
    );
  });

  it("accepts client certificates of its CA", async () => {
    const bob = await ok(`auth whoami ${await certified("bob", "/O=devs/CN=bob")}`);
    assert.match(bob, /^Username +bob$/m);
    assert.match(bob, /^Groups +\[devs system:authenticated\]$/m);
  });

  it("creates ServiceAccount tokens, which are invalid once the account is deleted", async () => {
    await ok("create serviceaccount bot -n team");
    await ok("create rolebinding bot -n team --role=reader --serviceaccount=team:bot");
    const token = await ok("create token bot -n team");
    assert.equal(token.split(".").length, 3);
    const own = withToken(token);
    assert.match(await ok(`get configmap c1 -n team -o name ${own}`), /configmap\/c1/);
    assert.match(await ok(`auth whoami ${own}`), /^Username +system:serviceaccount:team:bot$/m);
    await ok("delete serviceaccount bot -n team");
    // Authenticated tokens are cached for a second.
    const deadline = Date.now() + 10_000;
    let refused = await attempt(`get configmap c1 -n team ${own}`);
    while (refused.status === 0 && Date.now() < deadline) {
      refused = await attempt(`get configmap c1 -n team ${own}`);
    }
    assert.equal(refused.status, 1);
    assert.match(refused.error, /Unauthorized/);
  });

  it("lets nodes join with bootstrap tokens", async () => {
    const words = [
      "create secret generic bootstrap-token-abcdef -n kube-system",
      "--type=bootstrap.kubernetes.io/token --from-literal=token-id=abcdef",
      "--from-literal=token-secret=0123456789abcdef",
      "--from-literal=usage-bootstrap-authentication=true",
    ];
    await ok(words.join(" "));
    const who = await ok(`auth whoami ${withToken("abcdef.0123456789abcdef")}`);
    assert.match(who, /^Username +system:bootstrap:abcdef$/m);
  });

  it("kubectl auth reconcile adds missing rules, and removes extra ones on request", async () => {
    const rule = (verb: string) => ({ verbs: [verb], apiGroups: [""], resources: ["secrets"] });
    const role = (...verbs: readonly string[]) =>
      JSON.stringify({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "kept", namespace: "team" },
        rules: verbs.map(rule),
      });
    const verbs = async () =>
      ok("get role kept -n team -o jsonpath={.rules[*].verbs[*]}").then((out) => out.split(" "));
    await ok("auth reconcile -f -", role("get"));
    await ok("auth reconcile -f -", role("list"));
    assert.deepEqual((await verbs()).sort(), ["get", "list"]);
    await ok("auth reconcile --remove-extra-permissions -f -", role("watch"));
    assert.deepEqual(await verbs(), ["watch"]);
  });

  it("limits nodes to their own Node object", async () => {
    const own = await certified("node", "/O=system:nodes/CN=system:node:n1");
    const node = (name: string, labels: object = {}) =>
      JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name, labels } });
    await ok(`create -f - ${own}`, node("n1"));
    const other = await attempt(`create -f - ${own}`, node("n2"));
    assert.match(other.error, /node "n1" is not allowed to modify node "n2"$/m);
    const label = "label node n1 node-restriction.kubernetes.io/x=y";
    const labelled = await attempt(`${label} ${own}`);
    assert.match(labelled.error, /is not allowed to modify labels: node-restriction/);
    await ok(label);
    assert.match(await ok(`get node n1 -o name ${own}`), /node\/n1/);
    const all = await attempt(`get nodes ${own}`);
    assert.match(all.error, /node 'n1' cannot read all nodes, only its own Node object/);
    const deleted = await attempt(`delete node n1 ${own}`);
    assert.match(deleted.error, /User "system:node:n1" cannot delete resource "nodes"/);
  });

  it("revokes a permission immediately", async () => {
    const own = withToken("alicetoken");
    await ok(`get configmaps -n team ${own}`);
    await ok("delete rolebinding alice -n team");
    assert.equal((await attempt(`get configmaps -n team ${own}`)).status, 1);
    await ok("create rolebinding alice -n team --role=reader --user=alice");
    await ok(`get configmaps -n team ${own}`);
  });
});

describe("access, in process", () => {
  let server: RunningServer;

  before(async () => {
    server = await startServer({ controllers: false });
    await post("/api/v1/namespaces", { metadata: { name: "team" } });
    await post(`${rbac}/namespaces/team/roles`, {
      metadata: { name: "some" },
      rules: [
        { verbs: ["get", "delete"], apiGroups: [""], resources: ["configmaps"] },
        { verbs: ["list"], apiGroups: ["apps", "coordination.k8s.io"], resources: ["*"] },
        { verbs: ["*"], apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"] },
      ],
    });
    await post(`${rbac}/namespaces/team/rolebindings`, {
      metadata: { name: "some" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "some" },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "u" }],
    });
  });
  after(() => server.close());

  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const access = "/apis/authorization.k8s.io/v1";

  async function post(url: string, object: object, headers: Record<string, string> = {}) {
    const init = { method: "POST", body: JSON.stringify(object) };
    const type = { "content-type": "application/json" };
    const answer = await server.fetch(url, { ...init, headers: { ...type, ...headers } });
    return { status: answer.status, body: (await answer.json()) as any };
  }

  const methods = { get: "GET", list: "GET", delete: "DELETE" } as const;
  const places = [
    { group: "", resource: "configmaps", path: "/api/v1/namespaces/team/configmaps" },
    { group: "", resource: "secrets", path: "/api/v1/namespaces/team/secrets" },
    {
      group: "coordination.k8s.io",
      resource: "leases",
      path: "/apis/coordination.k8s.io/v1/namespaces/team/leases",
    },
  ];

  for (const { group, resource, path: collection } of places) {
    for (const verb of ["get", "list", "delete"] as const) {
      for (const name of verb === "list" ? [""] : ["mine", "yours"]) {
        it(`a review of ${verb} ${resource} ${name} agrees with the request`, async () => {
          const resourceAttributes = { verb, group, resource, name, namespace: "team" };
          const spec = { user: "u", groups: ["system:authenticated"], resourceAttributes };
          const review = await post(`${access}/subjectaccessreviews`, { spec });
          const url = name === "" ? collection : `${collection}/${name}`;
          const headers = { "impersonate-user": "u" };
          const answer = await server.fetch(url, { method: methods[verb], headers });
          assert.equal(review.status, 201);
          assert.equal(answer.status !== 403, review.body.status.allowed);
        });
      }
    }
  }

  it("does not let anybody become another, or give what he has not", async () => {
    const asU = { "impersonate-user": "u" };
    const role = {
      metadata: { name: "more" },
      rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    };
    const given = await post(`${rbac}/namespaces/team/roles`, role, asU);
    assert.equal(given.status, 403);
    const headers = { "impersonate-group": "system:masters" };
    const nobody = await server.fetch("/api/v1/namespaces", { headers });
    assert.equal(nobody.status, 500);
    const asAnother = { "impersonate-user": "u", "impersonate-uid": "1" };
    const answer = await server.fetch(`${rbac}/namespaces/team/roles`, { headers: asAnother });
    assert.equal(answer.status, 403);
  });

  it("gives a fork the keys of its source", async () => {
    const url = "/api/v1/namespaces/team/serviceaccounts";
    await post(url, { metadata: { name: "bot" } });
    const made = await post(`${url}/bot/token`, { spec: {} });
    assert.equal(made.status, 201);
    const copy = await server.fork();
    const authorization = `Bearer ${made.body.status.token}`;
    const headers = { authorization, "content-type": "application/json" };
    const answer = await copy.fetch("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      method: "POST",
      body: "{}",
      headers,
    });
    const { status } = (await answer.json()) as any;
    assert.equal(status.userInfo.username, "system:serviceaccount:team:bot");
    await copy.close();
  });

  it("creates no tokens in a terminating namespace, and names the account", async () => {
    await post("/api/v1/namespaces", { metadata: { name: "leaving" } });
    const url = "/api/v1/namespaces/leaving/serviceaccounts";
    await post(url, { metadata: { name: "bot", finalizers: ["example.com/wait"] } });
    await server.fetch("/api/v1/namespaces/leaving", { method: "DELETE" });
    const { status, body } = await post(`${url}/bot/token`, { spec: {} });
    assert.equal(status, 403);
    assert.match(body.message, /^serviceaccounts "bot" is forbidden: unable to create new content/);
  });

  it("repairs bootstrap roles, except those with autoupdate=false", async () => {
    const change = async (name: string, object: object) => {
      const answer = await server.fetch(`${rbac}/clusterroles/${name}`, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: JSON.stringify(object),
      });
      assert.equal(answer.status, 200);
    };
    const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "false" };
    await change("system:discovery", { metadata: { annotations }, rules: [] });
    const extra = { verbs: ["get"], nonResourceURLs: ["/extra"] };
    await change("system:public-info-viewer", { rules: [extra] });
    const copy = await server.snapshot().restart();
    const rulesOf = async (name: string) => {
      const answer = await copy.fetch(`${rbac}/clusterroles/${name}`);
      return ((await answer.json()) as any).rules;
    };
    assert.equal(await rulesOf("system:discovery"), null);
    const repaired = await rulesOf("system:public-info-viewer");
    assert.deepEqual(repaired[0], extra);
    assert.ok(repaired.length > 1);
    await copy.close();
  });
});

describe("access, on three replicas over etcd", () => {
  let etcd: EtcdCluster;
  let servers: readonly RunningServer[];

  before(async function () {
    if (spawnSync("etcd", ["--version"]).error) this.skip();
    etcd = await startEtcd();
    const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
    const signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
      type: "pkcs8",
      format: "pem",
    }) as string;
    const options = { storage, controllers: false, serviceAccounts: { signingKey } };
    // All create the bootstrap roles at once.
    servers = await Promise.all([1, 2, 3].map(() => startServer(options)));
  });
  after(async () => {
    await Promise.all((servers ?? []).map((server) => server.close()));
    await etcd?.[Symbol.asyncDispose]();
  });

  const rbac = "/apis/rbac.authorization.k8s.io/v1";

  async function send(method: string, url: string, object?: object): Promise<number> {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, ...(object && { body: JSON.stringify(object) }) };
    return (await servers[0]!.fetch(url, init)).status;
  }

  /** Resolves once the other replica allows, or rejects, a request of `u`. */
  async function untilAllowed(expected: boolean): Promise<void> {
    const deadline = performance.now() + 10_000;
    const headers = { "impersonate-user": "u" };
    for (;;) {
      const { status } = await servers[1]!.fetch("/api/v1/nodes", { headers });
      if ((status === 200) === expected) return;
      assert.ok(performance.now() < deadline, `still ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it("has the same bootstrap roles and bindings as a single server", async () => {
    const alone = await startServer({ controllers: false });
    for (const kinds of ["clusterroles", "clusterrolebindings", "roles", "rolebindings"]) {
      const shown = async (server: RunningServer) => {
        const { items } = (await (await server.fetch(`${rbac}/${kinds}`)).json()) as any;
        return items.map(({ metadata, rules, subjects, roleRef, aggregationRule }: any) => {
          const { name, namespace, labels, annotations } = metadata;
          return {
            name,
            namespace,
            labels,
            annotations,
            rules,
            subjects,
            roleRef,
            aggregationRule,
          };
        });
      };
      const expected = await shown(alone);
      assert.ok(expected.length > 2);
      for (const server of servers) assert.deepEqual(await shown(server), expected);
    }
    await alone.close();
  });

  it("applies grants and revocations on the other replica", async () => {
    const rules = [{ verbs: ["list"], apiGroups: [""], resources: ["nodes"] }];
    const role = { metadata: { name: "n" }, rules };
    assert.equal(await send("POST", `${rbac}/clusterroles`, role), 201);
    const apiGroup = "rbac.authorization.k8s.io";
    const binding = {
      metadata: { name: "n" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "n" },
      subjects: [{ kind: "User", apiGroup, name: "u" }],
    };
    assert.equal(await send("POST", `${rbac}/clusterrolebindings`, binding), 201);
    await untilAllowed(true);
    assert.equal(await send("DELETE", `${rbac}/clusterrolebindings/n`), 200);
    await untilAllowed(false);
  });
});
