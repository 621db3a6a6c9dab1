/** Controllers of a whole server, seen by its clients. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

describe("controllers", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ port: 0, bootstrapTokens: true, report: () => undefined });
  });
  after(() => server.close());

  async function send(method: string, path: string, object?: object): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = { method, headers: { "content-type": type } };
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const answer = await server.fetch(path, { ...init, ...body });
    return { status: answer.status, ...((await answer.json()) as object) };
  }

  /** Polls until the response satisfies the condition, and returns it. */
  async function until(path: string, wanted: (answer: any) => boolean): Promise<any> {
    for (let tries = 0; ; tries++) {
      const answer = await send("GET", path);
      if (wanted(answer)) return answer;
      assert.ok(tries < 2400, JSON.stringify(answer));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  const isThere = ({ metadata }: any) => metadata?.uid !== undefined;
  const isGone = ({ code }: any) => code === 404;
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const decoded = (text: string) => Buffer.from(text, "base64").toString();
  const makeNamespace = (name: string) =>
    send("POST", "/api/v1/namespaces", { metadata: { name } });

  it("create and restore the ServiceAccount and the root CA of every namespace", async () => {
    await makeNamespace("first");
    const account = "/api/v1/namespaces/first/serviceaccounts/default";
    const authorities = "/api/v1/namespaces/first/configmaps/kube-root-ca.crt";
    const { metadata } = await until(account, isThere);
    const { data } = await until(authorities, isThere);
    assert.match(data["ca.crt"], /^-----BEGIN CERTIFICATE-----/);
    await send("DELETE", account);
    await until(account, (found) => isThere(found) && found.metadata.uid !== metadata.uid);
    await send("PATCH", authorities, { data: { "ca.crt": "mine", more: "mine" } });
    await until(authorities, (found) => JSON.stringify(found.data) === JSON.stringify(data));
  });

  it("empty a terminating namespace, and report remaining finalizers", async () => {
    await makeNamespace("held");
    const maps = "/api/v1/namespaces/held/configmaps";
    const finalizers = ["example.com/hold"];
    await send("POST", maps, { metadata: { name: "a", finalizers } });
    await send("POST", maps, { metadata: { name: "b" } });
    await send("DELETE", "/api/v1/namespaces/held");
    await until(`${maps}/b`, isGone);
    const { status } = await until("/api/v1/namespaces/held", ({ status }) =>
      status?.conditions?.some(
        ({ type, status: state }: any) =>
          type === "NamespaceFinalizersRemaining" && state === "True",
      ),
    );
    const said = status.conditions.map((each: any) => [each.type, each.status, each.message]);
    assert.deepEqual(said, [
      ["NamespaceDeletionDiscoveryFailure", "False", "All resources successfully discovered"],
      [
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "All legacy kube types successfully parsed",
      ],
      [
        "NamespaceDeletionContentFailure",
        "False",
        "All content successfully deleted, may be waiting on finalization",
      ],
      [
        "NamespaceContentRemaining",
        "True",
        "Some resources are remaining: configmaps. has 1 resource instances",
      ],
      [
        "NamespaceFinalizersRemaining",
        "True",
        "Some content in the namespace has finalizers remaining: " +
          "example.com/hold in 1 resource instances",
      ],
    ]);
    await send("PATCH", `${maps}/a`, { metadata: { finalizers: null } });
    await until("/api/v1/namespaces/held", isGone);
  });

  it("fill token Secrets of ServiceAccounts, and delete them with the account", async () => {
    await makeNamespace("tokens");
    const accounts = "/api/v1/namespaces/tokens/serviceaccounts";
    const secrets = "/api/v1/namespaces/tokens/secrets";
    await send("POST", accounts, { metadata: { name: "robot" } });
    const annotations = { "kubernetes.io/service-account.name": "robot" };
    const type = "kubernetes.io/service-account-token";
    await send("POST", secrets, { metadata: { name: "robot-token", annotations }, type });
    const filled = await until(`${secrets}/robot-token`, ({ data }) => data?.token !== undefined);
    assert.equal(decoded(filled.data.namespace), "tokens");
    assert.match(decoded(filled.data["ca.crt"]), /BEGIN CERTIFICATE/);
    const authorization = `Bearer ${decoded(filled.data.token)}`;
    const asRobot = () => server.fetch("/api/v1/nodes", { headers: { authorization } });
    assert.equal((await asRobot()).status, 403);
    await send("DELETE", `${accounts}/robot`);
    await until(`${secrets}/robot-token`, isGone);
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.equal((await asRobot()).status, 401);
  });

  it("sign cluster-info with bootstrap tokens, and delete expired ones", async () => {
    const secrets = "/api/v1/namespaces/kube-system/secrets";
    const info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
    const kubeconfig = "apiVersion: v1\nkind: Config\n";
    const put = (id: string, more: object) => {
      const data = {
        "token-id": encoded(id),
        "token-secret": encoded("0123456789abcdef"),
        ...more,
      };
      const type = "bootstrap.kubernetes.io/token";
      return send("POST", secrets, { metadata: { name: `bootstrap-token-${id}` }, type, data });
    };
    const signs = { "usage-bootstrap-signing": encoded("true") };
    await send("POST", "/api/v1/namespaces/kube-public/configmaps", {
      metadata: { name: "cluster-info" },
      data: { kubeconfig, "jws-kubeconfig-gone00": "old" },
    });
    const second = new Date(Date.now() + 1_500).toISOString().replace(/\.\d+/, "");
    await put("abcdef", signs);
    await put("silent", {});
    await put("brief0", { ...signs, expiration: encoded(second) });
    const { data } = await until(info, (found) => found.data["jws-kubeconfig-abcdef"]);
    const [head = "", payload, signature] = data["jws-kubeconfig-abcdef"].split(".");
    const { alg, kid } = JSON.parse(Buffer.from(head, "base64url").toString());
    assert.deepEqual([alg, kid, payload], ["HS256", "abcdef", ""]);
    const whole = `${head}.${Buffer.from(kubeconfig).toString("base64url")}`;
    assert.equal(
      createHmac("sha256", "0123456789abcdef").update(whole).digest("base64url"),
      signature,
    );
    const wanted = ["jws-kubeconfig-abcdef", "kubeconfig"];
    await until(info, (found) => String(Object.keys(found.data).sort()) === String(wanted));
    await until(`${secrets}/bootstrap-token-brief0`, isGone);
    assert.ok(isThere(await send("GET", `${secrets}/bootstrap-token-abcdef`)));
  });

  it("keep the Lease of the API server, and delete expired ones", async () => {
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    const label = "apiserver.kubernetes.io/identity";
    const of = encodeURIComponent(`${label}=kube-apiserver`);
    const { items } = await until(`${leases}?labelSelector=${of}`, (list) => list.items.length > 0);
    const [{ metadata, spec }] = items;
    assert.match(metadata.name, /^apiserver-[a-z0-9]+$/);
    assert.equal(spec.holderIdentity.split("_")[0], metadata.name);
    assert.equal(spec.leaseDurationSeconds, 3600);
    assert.ok(metadata.labels["kubernetes.io/hostname"]);
    const gone = { name: "apiserver-gone", labels: { [label]: "kube-apiserver" } };
    const renewTime = "2020-01-01T00:00:00.000000Z";
    await send("POST", leases, { metadata: gone, spec: { ...spec, renewTime } });
    const fork = await server.fork({ port: 0 });
    try {
      for (let tries = 0; ; tries++) {
        if ((await fork.fetch(`${leases}/apiserver-gone`)).status === 404) break;
        assert.ok(tries < 2400, "the old lease is still there");
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.equal((await fork.fetch(`${leases}/${metadata.name}`)).status, 200);
    } finally {
      await fork.close();
    }
  });
});
