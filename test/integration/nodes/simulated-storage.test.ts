/** The simulated CSI driver with all controllers and the scheduler. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { Cluster, type Json } from "./cluster.ts";

const defaultClass = { storage: { defaultClass: "standard", isElected: false } };
const core = "/api/v1";
const storage = "/apis/storage.k8s.io/v1";
const claims = `${core}/namespaces/default/persistentvolumeclaims`;
const pods = `${core}/namespaces/default/pods`;

function claim(name: string, spec: object = {}): object {
  const resources = { requests: { storage: "1Gi" } };
  return { metadata: { name }, spec: { accessModes: ["ReadWriteOnce"], resources, ...spec } };
}

function pod(name: string, claimName: string, spec: object = {}): object {
  const containers = [
    { name: "app", image: "nginx", volumeMounts: [{ name: "data", mountPath: "/data" }] },
  ];
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
  return { metadata: { name }, spec: { containers, volumes, ...spec } };
}

const isBound = ({ status }: Json) => status?.phase === "Bound";
const isReady = ({ status }: Json) =>
  status?.conditions?.some(({ type, status: is }: Json) => type === "Ready" && is === "True");

describe("simulated storage", () => {
  let server: RunningServer;
  let cluster: Cluster;

  before(async () => {
    server = await startServer({ nodes: { count: 2, ...defaultClass }, scheduler: true });
    cluster = new Cluster(server);
    await cluster.until(`${storage}/storageclasses/standard`, ({ provisioner }) => provisioner);
  });
  after(() => server.close());

  it("provisions a volume of the default class as external-provisioner does", async () => {
    await cluster.create(claims, claim("data"));
    const bound = await cluster.until(`${claims}/data`, isBound);
    const { annotations } = bound.metadata;
    assert.equal(bound.spec.storageClassName, "standard");
    assert.equal(annotations["volume.kubernetes.io/storage-provisioner"], "simulated.keelson.dev");
    const { metadata, spec, status } = await cluster.get(
      `${core}/persistentvolumes/${bound.spec.volumeName}`,
    );
    assert.equal(metadata.name, `pvc-${bound.metadata.uid}`);
    assert.equal(metadata.annotations["pv.kubernetes.io/provisioned-by"], "simulated.keelson.dev");
    assert.deepEqual(metadata.finalizers.toSorted(), [
      "external-provisioner.volume.kubernetes.io/finalizer",
      "kubernetes.io/pv-protection",
    ]);
    assert.equal(spec.persistentVolumeReclaimPolicy, "Delete");
    assert.equal(spec.csi.driver, "simulated.keelson.dev");
    assert.equal(spec.csi.fsType, "ext4");
    assert.equal(spec.claimRef.uid, bound.metadata.uid);
    assert.equal(spec.volumeMode, "Filesystem");
    assert.deepEqual(spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions, [
      { key: "topology.simulated.keelson.dev/zone", operator: "In", values: ["default"] },
    ]);
    assert.equal(status.phase, "Bound");
    await cluster.delete(`${claims}/data`);
    await cluster.gone(`${core}/persistentvolumes/${metadata.name}`);
  });

  it("waits for a pod with volumeBindingMode WaitForFirstConsumer", async () => {
    await cluster.create(`${storage}/storageclasses`, {
      metadata: { name: "late" },
      provisioner: "simulated.keelson.dev",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await cluster.create(claims, claim("late", { storageClassName: "late" }));
    await cluster.create(pods, pod("late", "late"));
    const bound = await cluster.until(`${claims}/late`, isBound);
    const { nodeName } = (await cluster.until(`${pods}/late`, isReady)).spec;
    assert.equal(bound.metadata.annotations["volume.kubernetes.io/selected-node"], nodeName);
    await cluster.delete(`${pods}/late`);
    await cluster.delete(`${claims}/late`);
  });

  it("fails as configured by the parameters of the class", async () => {
    await cluster.create(`${storage}/storageclasses`, {
      metadata: { name: "broken" },
      provisioner: "simulated.keelson.dev",
      parameters: { "fail-provision": "InvalidArgument" },
    });
    await cluster.create(claims, claim("broken", { storageClassName: "broken" }));
    const events = `${core}/events?fieldSelector=involvedObject.name%3Dbroken`;
    await cluster.until(events, ({ items }) =>
      items.some(({ reason }: Json) => reason === "ProvisioningFailed"),
    );
    const told = await cluster.events("broken");
    const why = "rpc error: code = InvalidArgument desc = simulated failure";
    const failed = `ProvisioningFailed: failed to provision volume with StorageClass "broken": ${why}`;
    assert.ok(
      told.some((text) => text.startsWith(failed)),
      told.join("\n"),
    );
    const provisioning = 'External provisioner is provisioning volume for claim "default/broken"';
    assert.ok(told.includes(`Provisioning: ${provisioning}`));
    assert.equal((await cluster.get(`${claims}/broken`)).status.phase, "Pending");
    await cluster.delete(`${claims}/broken`);
  });

  it("provisions no more than the capacity of the class, and publishes the remaining one", async () => {
    await cluster.create(`${storage}/storageclasses`, {
      metadata: { name: "small" },
      provisioner: "simulated.keelson.dev",
      parameters: { capacity: "1Gi" },
    });
    await cluster.create(claims, claim("first", { storageClassName: "small" }));
    await cluster.until(`${claims}/first`, isBound);
    await cluster.until(`${storage}/namespaces/kube-system/csistoragecapacities`, ({ items }) =>
      items.some((each: Json) => each.storageClassName === "small" && each.capacity === "0"),
    );
    await cluster.create(claims, claim("second", { storageClassName: "small" }));
    const events = `${core}/events?fieldSelector=involvedObject.name%3Dsecond`;
    await cluster.until(events, ({ items }) =>
      items.some(({ message }: Json) => message.includes("code = ResourceExhausted")),
    );
    await cluster.delete(`${claims}/first`);
    await cluster.until(`${claims}/second`, isBound);
    await cluster.delete(`${claims}/second`);
  });

  it("clones a volume, and protects the source claim meanwhile", async () => {
    await cluster.create(claims, claim("source"));
    await cluster.until(`${claims}/source`, isBound);
    const dataSource = { kind: "PersistentVolumeClaim", name: "source" };
    await cluster.create(claims, claim("clone", { dataSource }));
    await cluster.until(`${claims}/clone`, isBound);
    const finalizer = "provisioner.storage.kubernetes.io/cloning-protection";
    await cluster.until(
      `${claims}/source`,
      ({ metadata }) => !metadata.finalizers.includes(finalizer),
    );
    const less = { resources: { requests: { storage: "1Mi" } }, dataSource };
    await cluster.create(claims, claim("smaller", less));
    const events = `${core}/events?fieldSelector=involvedObject.name%3Dsmaller`;
    await cluster.until(events, ({ items }) =>
      items.some(({ message }: Json) => message.includes("greater than or equal in size")),
    );
    for (const name of ["source", "clone", "smaller"]) await cluster.delete(`${claims}/${name}`);
  });

  it("expands a block volume without a node", async () => {
    await cluster.create(claims, claim("block", { volumeMode: "Block" }));
    await cluster.until(`${claims}/block`, isBound);
    const resources = { requests: { storage: "2Gi" } };
    await cluster.patch(`${claims}/block`, { spec: { resources } });
    const grown = await cluster.until(
      `${claims}/block`,
      ({ status }) => status.capacity.storage === "2Gi",
    );
    assert.deepEqual(grown.status.allocatedResources, { storage: "2Gi" });
    assert.equal(grown.status.allocatedResourceStatuses, undefined);
    assert.equal(grown.status.conditions, undefined);
    const volume = await cluster.get(`${core}/persistentvolumes/${grown.spec.volumeName}`);
    assert.equal(volume.spec.capacity.storage, "2Gi");
    await cluster.delete(`${claims}/block`);
  });

  it("applies VolumeAttributesClasses", async () => {
    const driverName = "simulated.keelson.dev";
    for (const [name, parameters] of [
      ["fast", { iops: "9000" }],
      ["impossible", { "fail-modify": "InvalidArgument" }],
    ] as const) {
      const object = { metadata: { name }, driverName, parameters };
      await cluster.create(`${storage}/volumeattributesclasses`, object);
    }
    await cluster.create(claims, claim("modified"));
    await cluster.until(`${claims}/modified`, isBound);
    const use = (name: string) =>
      cluster.patch(`${claims}/modified`, { spec: { volumeAttributesClassName: name } });
    await use("fast");
    const done = await cluster.until(
      `${claims}/modified`,
      ({ status }) => status.currentVolumeAttributesClassName === "fast",
    );
    assert.equal(done.status.modifyVolumeStatus, undefined);
    await use("impossible");
    const refused = await cluster.until(
      `${claims}/modified`,
      ({ status }) => status.modifyVolumeStatus?.status === "Infeasible",
    );
    const types = refused.status.conditions.map(({ type }: Json) => type);
    assert.deepEqual(types, ["ModifyingVolume", "ModifyVolumeError"]);
    assert.equal(refused.status.currentVolumeAttributesClassName, "fast");
    await cluster.delete(`${claims}/modified`);
  });

  it("attaches and mounts the volumes of a StatefulSet, and keeps or deletes its claims", async () => {
    const sets = "/apis/apps/v1/namespaces/default/statefulsets";
    const labels = { app: "db" };
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    await cluster.create(sets, {
      metadata: { name: "db" },
      spec: {
        replicas: 2,
        serviceName: "db",
        selector: { matchLabels: labels },
        persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [{ name: "app", image: "db", volumeMounts }],
          },
        },
        volumeClaimTemplates: [claim("data")],
      },
    });
    await cluster.until(`${sets}/db`, ({ status }) => status.readyReplicas === 2);
    for (const name of ["data-db-0", "data-db-1"]) {
      assert.equal((await cluster.get(`${claims}/${name}`)).status.phase, "Bound");
    }
    const { volumeName } = (await cluster.get(`${claims}/data-db-1`)).spec;
    const { nodeName } = (await cluster.get(`${pods}/db-1`)).spec;
    const { spec } = await cluster.get(`${core}/persistentvolumes/${volumeName}`);
    const uniqueName = `kubernetes.io/csi/simulated.keelson.dev^${spec.csi.volumeHandle}`;
    const { status } = await cluster.get(`${core}/nodes/${nodeName}`);
    assert.ok(status.volumesInUse.includes(uniqueName));
    assert.ok(status.volumesAttached.some(({ name }: Json) => name === uniqueName));
    const { items } = await cluster.get(`${storage}/volumeattachments`);
    const attached = items.find(
      (each: Json) => each.spec.source.persistentVolumeName === volumeName,
    );
    assert.equal(attached.status.attached, true);
    assert.deepEqual(attached.metadata.finalizers, ["external-attacher/simulated-keelson-dev"]);
    await cluster.patch(`${sets}/db`, { spec: { replicas: 1 } });
    await cluster.gone(`${claims}/data-db-1`);
    await cluster.gone(`${core}/persistentvolumes/${volumeName}`);
    await cluster.until(
      `${core}/nodes/${nodeName}`,
      ({ status: now }) => now.volumesInUse?.includes(uniqueName) !== true,
    );
    await cluster.delete(`${sets}/db`);
    await cluster.gone(`${claims}/data-db-0`);
  });

  it("expands the file system of a mounted volume", async () => {
    await cluster.create(claims, claim("grown"));
    await cluster.create(pods, pod("grown", "grown"));
    await cluster.until(`${pods}/grown`, isReady);
    const resources = { requests: { storage: "3Gi" } };
    await cluster.patch(`${claims}/grown`, { spec: { resources } });
    const grown = await cluster.until(
      `${claims}/grown`,
      ({ status }) => status.capacity.storage === "3Gi",
    );
    assert.equal(grown.status.conditions, undefined);
    const what = "Require file system resize of volume on node";
    await cluster.until(`${core}/events?fieldSelector=involvedObject.name%3Dgrown`, ({ items }) =>
      items.some(
        ({ reason, message }: Json) => reason === "FileSystemResizeRequired" && message === what,
      ),
    );
    await cluster.delete(`${pods}/grown`);
    await cluster.delete(`${claims}/grown`);
    await cluster.gone(`${core}/persistentvolumes/${grown.spec.volumeName}`);
  });

  it("keeps pods pending while their volumes cannot be attached or mounted", async () => {
    const volumes = [
      { name: "config", configMap: { name: "late-config" } },
      { name: "secret", secret: { secretName: "late-secret", optional: true } },
    ];
    await cluster.create(pods, pod("waiting", "absent", { nodeName: "hollow-0" }));
    await cluster.create(
      pods,
      pod("configured", "", { volumes, containers: [{ name: "app", image: "a" }] }),
    );
    const eventsOf = (name: string) => `${core}/events?fieldSelector=involvedObject.name%3D${name}`;
    const has = (text: string) => (list: Json) =>
      list.items.some(
        ({ reason, message, source }: Json) =>
          reason === "FailedMount" && source.component === "kubelet" && message === text,
      );
    await cluster.until(
      eventsOf("configured"),
      has('MountVolume.SetUp failed for volume "config" : configmap "late-config" not found'),
    );
    await cluster.until(
      eventsOf("waiting"),
      has(
        "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], " +
          "failed to process volumes=[data]: error processing PVC default/absent: " +
          'failed to fetch PVC from API server: persistentvolumeclaims "absent" not found',
      ),
    );
    await cluster.until(
      `${pods}/configured`,
      ({ status }) => status.containerStatuses?.[0].state.waiting.reason === "ContainerCreating",
    );
    await cluster.create(`${core}/namespaces/default/configmaps`, {
      metadata: { name: "late-config" },
      data: {},
    });
    const configured = await cluster.until(`${pods}/configured`, isReady);
    const left = configured.status.conditions.filter(({ reason }: Json) => reason !== undefined);
    assert.deepEqual(left, []);
    await cluster.create(claims, claim("absent"));
    await cluster.until(`${pods}/waiting`, isReady);
    for (const name of ["configured", "waiting"]) await cluster.delete(`${pods}/${name}`);
    await cluster.delete(`${claims}/absent`);
  });

  it("moves a volume with its pod when a node is drained", async () => {
    await cluster.create(claims, claim("moved"));
    const labels = { app: "moved" };
    const { spec } = pod("moved", "moved", { terminationGracePeriodSeconds: 0 }) as Json;
    const sets = "/apis/apps/v1/namespaces/default/replicasets";
    await cluster.create(sets, {
      metadata: { name: "moved" },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec },
      },
    });
    const list = `${pods}?labelSelector=app%3Dmoved`;
    const ready = ({ items }: Json) => items.length === 1 && isReady(items[0]);
    const [before] = (await cluster.until(list, ready)).items;
    const from = before.spec.nodeName;
    await cluster.patch(`${core}/nodes/${from}`, { spec: { unschedulable: true } });
    const name = before.metadata.name;
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } };
    await cluster.request("POST", `${pods}/${name}/eviction`, eviction);
    const [after] = (
      await cluster.until(list, (found) => ready(found) && found.items[0].metadata.name !== name)
    ).items;
    assert.notEqual(after.spec.nodeName, from);
    const { volumeName } = (await cluster.get(`${claims}/moved`)).spec;
    const { items } = await cluster.get(`${storage}/volumeattachments`);
    const own = items.filter((each: Json) => each.spec.source.persistentVolumeName === volumeName);
    assert.deepEqual(
      own.map((each: Json) => each.spec.nodeName),
      [after.spec.nodeName],
    );
    await cluster.patch(`${core}/nodes/${from}`, { spec: { unschedulable: null } });
    await cluster.delete(`${sets}/moved`);
    await cluster.delete(`${claims}/moved`);
  });
});
