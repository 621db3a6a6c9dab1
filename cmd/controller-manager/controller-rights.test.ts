/** Controllers over HTTP, each with the permissions of its own service account. */
import assert from "node:assert/strict";
import { createLogger, systemClock } from "#base";
import { defaultControllerSettings, selectControllers } from "#controllers";
import { runControllers, type RunningServer, startServer } from "#controlplane";
import { domainOf } from "#meta";
import { parseKubeconfig } from "#request";

describe("controllers with the permissions of their service accounts", () => {
  let server: RunningServer;
  let running: Promise<void>;
  const life = new AbortController();
  const errors: string[] = [];

  before(async () => {
    server = await startServer({ port: 0, controllers: false, authorization: ["RBAC"] });
    const endpoint = parseKubeconfig(server.kubeconfig, () => "");
    const silent = createLogger({ format: "text", write: () => undefined });
    const error = (what: string, fault?: unknown) => void errors.push(`${what}: ${String(fault)}`);
    running = runControllers(
      {
        endpoint: () => endpoint,
        controllers: selectControllers(["*", "bootstrapsigner", "tokencleaner"]),
        settings: { ...defaultControllerSettings, settleMs: 0, rootCa: "" },
        leaderElection: undefined,
        useServiceAccountCredentials: true,
        requestsPerSecond: 200,
        burst: 300,
        serving: undefined,
        domain: domainOf(),
        clock: systemClock,
        logger: Object.assign(Object.create(silent) as typeof silent, { error }),
        onLeader: () => undefined,
      },
      life.signal,
    );
  });
  after(async () => {
    life.abort();
    await running;
    await server.close();
  });

  async function send(method: string, path: string, object?: object): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = { method, headers: { "content-type": type } };
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const response = await server.fetch(path, { ...init, ...body });
    const text = await response.text();
    return { ...(text.startsWith("{") ? JSON.parse(text) : {}), code: response.status };
  }

  async function until(path: string, wanted: (found: any) => boolean): Promise<void> {
    for (let tries = 0; ; tries++) {
      const found = await send("GET", path);
      if (wanted(found)) return;
      assert.ok(tries < 6000, `${path}: ${JSON.stringify(found)}; ${errors.join("; ")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const isGone = ({ code }: any) => code === 404;
  const container = { name: "c", image: "i" };

  it("delete namespaces with claims, volumes and attribute classes", async () => {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await send("POST", "/api/v1/namespaces", { metadata: { name: "data" } });
    const claims = "/api/v1/namespaces/data/persistentvolumeclaims";
    const made = await send("POST", claims, { metadata: { name: "c" }, spec });
    assert.deepEqual(made.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
    await send("POST", "/api/v1/persistentvolumes", {
      metadata: { name: "v" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/data" },
      },
    });
    const classes = "/apis/storage.k8s.io/v1/volumeattributesclasses";
    await send("POST", classes, {
      metadata: { name: "a" },
      driverName: "d",
      parameters: { a: "b" },
    });
    const paths = ["/api/v1/namespaces/data", "/api/v1/persistentvolumes/v", `${classes}/a`];
    for (const path of paths) await send("DELETE", path);
    for (const path of paths) await until(path, isGone);
  });

  it("count the pods of PodDisruptionBudgets, also by the scale of custom resources", async () => {
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
    const versions = ["v1", "v1beta1"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: { ...open, properties: { replicas: { type: "integer" } } },
            status: { ...open, properties: { replicas: { type: "integer" } } },
          },
        },
      },
      subresources: { scale },
    }));
    const names = { plural: "packs", kind: "Pack", singular: "pack" };
    const spec = { group: "mig.io", scope: "Namespaced", names, versions };
    await send("POST", definitions, { metadata: { name: "packs.mig.io" }, spec });
    const packs = "/apis/mig.io/v1beta1/namespaces/default/packs";
    // A write during the last change of the definition's status would be rejected with 429.
    await until(`${definitions}/packs.mig.io`, ({ status }) =>
      (status?.conditions ?? []).some(
        ({ type, status: value }: any) => type === "Established" && value === "True",
      ),
    );
    await until(packs, ({ items }) => items !== undefined);
    const head = { apiVersion: "mig.io/v1beta1", kind: "Pack" };
    const pack = { ...head, metadata: { name: "p" }, spec: { replicas: 10 } };
    const created = await send("POST", packs, pack);
    assert.equal(created.code, 201, created.message);
    const { uid } = created.metadata;
    const labels = { app: "a" };
    const ownerReferences = [{ ...head, name: "p", uid, controller: true }];
    const pods = "/api/v1/namespaces/default/pods";
    await send("POST", "/api/v1/namespaces/default/serviceaccounts", {
      metadata: { name: "default" },
    });
    const metadata = { name: "pod", labels, ownerReferences };
    assert.equal(
      (await send("POST", pods, { metadata, spec: { containers: [container] } })).code,
      201,
    );
    const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    const selector = { matchLabels: labels };
    await send("POST", budgets, {
      metadata: { name: "b" },
      spec: { maxUnavailable: "50%", selector },
    });
    await until(
      `${budgets}/b`,
      ({ status }) => status?.expectedPods === 10 && status.desiredHealthy === 5,
    );
    const none = { matchLabels: { app: "none" } };
    await send("POST", budgets, {
      metadata: { name: "empty" },
      spec: { minAvailable: 1, selector: none },
    });
    await until("/api/v1/namespaces/default/events", ({ items }) =>
      items.some(
        ({ reason, source }: any) => reason === "NoPods" && source.component !== undefined,
      ),
    );
  });

  it("make ServiceCIDRs ready", async () => {
    const cidrs = "/apis/networking.k8s.io/v1/servicecidrs";
    await send("POST", cidrs, { metadata: { name: "extra" }, spec: { cidrs: ["10.9.0.0/24"] } });
    await until(`${cidrs}/extra`, ({ status }) => status?.conditions?.[0]?.status === "True");
    await send("DELETE", `${cidrs}/extra`);
    await until(`${cidrs}/extra`, isGone);
  });

  it("roll out workloads", async () => {
    const labels = { app: "workload" };
    const template = { metadata: { labels }, spec: { containers: [container] } };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    const apps = "/apis/apps/v1/namespaces/default";
    const isRunning = ({ status }: any) => status?.replicas === 1;
    await send("POST", `${apps}/deployments`, { metadata: { name: "d" }, spec });
    await until(`${apps}/deployments/d`, isRunning);
    const controllers = "/api/v1/namespaces/default/replicationcontrollers";
    const selector = { app: "old" };
    await send("POST", controllers, {
      metadata: { name: "old" },
      spec: { selector, template: { ...template, metadata: { labels: selector } } },
    });
    await until(`${controllers}/old`, isRunning);
    await send("POST", "/api/v1/nodes", { metadata: { name: "n" } });
    await send("POST", `${apps}/daemonsets`, {
      metadata: { name: "agent" },
      spec: {
        selector: { matchLabels: { app: "agent" } },
        template: {
          metadata: { labels: { app: "agent" } },
          spec: { containers: [container], tolerations: [{ operator: "Exists" }] },
        },
      },
    });
    await until(`${apps}/daemonsets/agent`, ({ status }) => status?.currentNumberScheduled === 1);
    await send("POST", `${apps}/statefulsets`, {
      metadata: { name: "db" },
      spec: {
        serviceName: "db",
        selector: { matchLabels: { app: "db" } },
        template: { ...template, metadata: { labels: { app: "db" } } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } },
          },
        ],
      },
    });
    await until(`${apps}/statefulsets/db`, isRunning);
    await send("PATCH", `${apps}/deployments/d`, { spec: { replicas: 0 } });
    await until(`${apps}/deployments/d`, ({ status }) => status?.replicas === undefined);
    await until("/api/v1/namespaces/default/events", ({ items }) =>
      items.some(({ reason }: any) => reason === "SuccessfulDelete"),
    );
  });

  it("run Jobs of a CronJob, publish their pods, and clean up", async () => {
    const [core, batch] = ["/api/v1/namespaces/default", "/apis/batch/v1/namespaces/default"];
    const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    const labels = { app: "nightly" };
    const ports = [{ port: 80 }];
    const spec = { selector: labels, ports, publishNotReadyAddresses: true };
    await send("POST", `${core}/services`, { metadata: { name: "nightly" }, spec });
    await send("POST", `${core}/services`, { metadata: { name: "own" }, spec: { ports } });
    const subsets = [{ addresses: [{ ip: "10.9.9.9" }], ports }];
    await send("POST", `${core}/endpoints`, { metadata: { name: "own" }, subsets });
    const template = {
      metadata: { labels },
      spec: { restartPolicy: "Never", containers: [container] },
    };
    const jobTemplate = { spec: { template, ttlSecondsAfterFinished: 0 } };
    const schedule = { schedule: "0 0 * * *", suspend: true, jobTemplate };
    await send("POST", `${batch}/cronjobs`, { metadata: { name: "c" }, spec: schedule });
    const status = { lastScheduleTime: "2020-01-01T00:00:00Z" };
    await send("PATCH", `${batch}/cronjobs/c/status`, { status });
    await send("PATCH", `${batch}/cronjobs/c`, { spec: { suspend: false } });
    const pods = `${core}/pods?labelSelector=app%3Dnightly`;
    await until(pods, ({ items }) => items?.length === 1);
    const [{ metadata }] = (await send("GET", pods)).items;
    const setStatus = (next: object) =>
      send("PATCH", `${core}/pods/${metadata.name}/status`, { status: next });
    await setStatus({ phase: "Running", podIP: "10.9.9.8", podIPs: [{ ip: "10.9.9.8" }] });
    const addresses = ({ items = [] }: any) =>
      items.flatMap(({ endpoints }: any) =>
        (endpoints ?? []).flatMap((each: any) => each.addresses),
      );
    await until(slices, (found) =>
      ["10.9.9.8", "10.9.9.9"].every((ip) => addresses(found).includes(ip)),
    );
    await until(`${core}/endpoints/nightly`, ({ subsets: found }) => found?.length === 1);
    await setStatus({ phase: "Succeeded" });
    await until(`${batch}/jobs`, ({ items }) => items?.length === 0);
    await until(pods, ({ items }) => items?.length === 0);
  });

  it("are denied no request", () => {
    assert.deepEqual(
      errors.filter((each) => /forbidden/i.test(each)),
      [],
    );
  });
});
