import assert from "node:assert/strict";
import { createLogger, VirtualClock } from "#base";
import { startServer } from "../start/start-server.ts";
import type { RunningServer } from "../options.ts";

const stagesPath = "/apis/kwok.x-k8s.io/v1alpha1/stages";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const account = { kind: "ServiceAccount", name: "kwok-controller", namespace: "kube-system" };

interface Shown {
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: { readonly conditions?: readonly { readonly message: string }[] };
  readonly items?: readonly { readonly reason?: string; readonly note?: string }[];
}

/** Stages of kinds other than Pod and Node have the permissions of KWOK's service account. */
describe("permissions of Stages", () => {
  const clock = new VirtualClock();
  let server: RunningServer;
  const call = async (path: string, method = "GET", body?: object): Promise<Shown> => {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    const response = await server.fetch(path, { method, ...init });
    const answer = (await response.json()) as Shown;
    assert.ok(response.ok, JSON.stringify(answer));
    return answer;
  };
  const grant = async (name: string, rules: readonly object[], subject: object = account) => {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    await call(`${rbac}/clusterroles`, "POST", { metadata: { name }, rules });
    await call(`${rbac}/clusterrolebindings`, "POST", {
      metadata: { name },
      roleRef,
      subjects: [subject],
    });
  };
  const configMaps = (...verbs: readonly string[]) => ({
    apiGroups: [""],
    resources: ["configmaps"],
    verbs,
  });
  const events = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create"] };
  const failures = async () => {
    const { items = [] } = await call("/apis/events.k8s.io/v1/namespaces/default/events");
    return items.filter(({ reason }) => reason === "StageFailed").map(({ note }) => note);
  };
  const stage = (name: string, template: string, more: object = {}) =>
    call(stagesPath, "POST", {
      apiVersion: "kwok.x-k8s.io/v1alpha1",
      kind: "Stage",
      metadata: { name },
      spec: {
        resourceRef: { apiGroup: "v1", kind: "ConfigMap" },
        selector: { matchLabels: { stage: name } },
        steps: [{ patch: { root: "data", template, ...more } }],
      },
    });
  const create = (name: string, label: string) =>
    call("/api/v1/namespaces/default/configmaps", "POST", {
      metadata: { name, labels: { stage: label } },
    });
  const dataOf = async (name: string) =>
    (await call(`/api/v1/namespaces/default/configmaps/${name}`)).data;
  /** Lets Stages act: their watches may be waiting for a retry. */
  const pass = () => clock.advance(60_000);

  before(async () => {
    const logger = createLogger({ write: () => undefined });
    server = await startServer({
      clock,
      nodes: { count: 1, installsStages: true },
      controllers: false,
      logger,
    });
    await clock.settle();
  });
  after(() => server.close());

  it("are those that RBAC grants to kwok-controller", async () => {
    await stage("plain", "{ who: stage }");
    await create("one", "plain");
    await pass();
    assert.equal(await dataOf("one"), undefined);
    const { status } = await call(`${stagesPath}/plain`);
    assert.match(
      status?.conditions?.[0]?.message ?? "",
      /^configmaps is forbidden: User "system:serviceaccount:kube-system:kwok-controller" cannot list/,
    );
    await grant("stages-read", [configMaps("list", "watch"), events]);
    await pass();
    assert.deepEqual((await call(`${stagesPath}/plain`)).status?.conditions?.[0]?.message, "");
    assert.match(String(await failures()), /kwok-controller" cannot patch resource "configmaps"/);
    await grant("stages-write", [configMaps("patch")]);
    await create("two", "plain");
    await pass();
    assert.deepEqual(await dataOf("two"), { who: "stage" });
  });

  it("exclude users that kwok-controller may not impersonate", async () => {
    const impersonation = { username: "editor" };
    await stage("as-editor", "{ who: editor }", { impersonation });
    await create("three", "as-editor");
    await pass();
    assert.match(String(await failures()), /users "editor" is forbidden: .* cannot impersonate/);
    await grant("stages-impersonate", [
      { apiGroups: [""], resources: ["users"], resourceNames: ["editor"], verbs: ["impersonate"] },
    ]);
    await create("four", "as-editor");
    await pass();
    assert.match(String(await failures()), /User "editor" cannot patch resource "configmaps"/);
    await grant("stages-edit", [configMaps("patch")], { kind: "User", name: "editor" });
    await create("five", "as-editor");
    await pass();
    assert.deepEqual(await dataOf("five"), { who: "editor" });
    assert.equal(await dataOf("three"), undefined);
  });
});
