/** Garbage collection with late, wrong and deleted owners. */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { systemClock } from "#base";
import { selectControllers, defaultControllerSettings } from "#controllers";
import { contextOn, type ControllerTest, startController } from "../testing.ts";
import { runGarbageCollector } from "./garbage-collector.ts";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";

const maps = "v1/configmaps/ns";

describe("garbage collector", () => {
  let test: TestRegistry;
  let life: AbortController;
  let running: Promise<unknown>;

  beforeEach(async () => {
    test = await testRegistry();
    life = new AbortController();
    setMaxListeners(0, life.signal);
    const { signal } = life;
    const context = contextOn({ ...test, clock: systemClock, signal, report: () => undefined });
    const [controller] = selectControllers(["garbagecollector"]);
    running = controller!.run(context, { ...defaultControllerSettings, settleMs: 0, rootCa: "" });
  });
  afterEach(async () => {
    life.abort();
    await running;
  });

  async function make(name: string, owners: readonly object[], more: object = {}): Promise<string> {
    const metadata = { name, ownerReferences: owners, ...more };
    const { item } = await test.post(maps, { metadata });
    return item.object.metadata.uid;
  }

  const ref = (name: string, uid: string, more: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name,
    uid,
    ...more,
  });

  async function until(expected: readonly string[]): Promise<void> {
    for (let tries = 0; ; tries++) {
      const names = await test.names(maps);
      if (String(names) === String(expected)) return;
      if (tries > 2400) assert.deepEqual(names, expected);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it("deletes objects whose owners are all absent, and no others", async () => {
    const first = await make("first", []);
    const second = await make("second", []);
    await make("both", [ref("first", first), ref("second", second)]);
    await make("one", [ref("first", first)]);
    await make("never", [ref("nobody", "00000000-0000-0000-0000-000000000000")]);
    const strange = { apiVersion: "example.com/v1", kind: "Strange", name: "s", uid: "u" };
    await make("strange", [strange]);
    await test.remove(`${maps}/first`);
    await until(["both", "second", "strange"]);
    for (let tries = 0; ; tries++) {
      const { object } = await test.get(`${maps}/both`);
      const left = object.metadata.ownerReferences.map(({ name }: { name: string }) => name);
      if (String(left) === "second") break;
      assert.ok(tries < 2400, String(left));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  it("deletes a cycle of objects that block each other's deletion", async () => {
    const blocking = { blockOwnerDeletion: true };
    const first = await make("first", []);
    const second = await make("second", [ref("first", first, blocking)]);
    const third = await make("third", [ref("second", second, blocking)]);
    const ownerReferences = [ref("third", third, blocking)];
    await test.patch(`${maps}/first`, { metadata: { ownerReferences } });
    await test.remove(`${maps}/first`, { propagationPolicy: "Foreground" });
    await until([]);
  });

  it("orphans dependents or waits for them, by the propagation policy", async () => {
    const owner = await make("owner", []);
    await make("child", [ref("owner", owner)]);
    await test.remove(`${maps}/owner`, { propagationPolicy: "Orphan" });
    await until(["child"]);
    assert.equal((await test.get(`${maps}/child`)).object.metadata.ownerReferences, undefined);
    const parent = await make("parent", []);
    const blocking = ref("parent", parent, { blockOwnerDeletion: true });
    await make("held", [blocking], { finalizers: ["example.com/hold"] });
    await test.remove(`${maps}/parent`, { propagationPolicy: "Foreground" });
    const isGoing = async () => (await test.get(`${maps}/held`)).object.metadata.deletionTimestamp;
    for (let tries = 0; !(await isGoing()); tries++) {
      assert.ok(tries < 2400, "the dependent is not deleted");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until(["child", "held", "parent"]);
    await test.patch(`${maps}/held`, { metadata: { finalizers: null } });
    await until(["child"]);
  });

  it("orphans the dependents of an object that has the finalizer for it", async () => {
    const owner = await make("owner", []);
    const middle = await make("middle", [ref("owner", owner)], { finalizers: ["orphan"] });
    await make("leaf", [ref("middle", middle)]);
    await test.remove(`${maps}/owner`);
    await until(["leaf"]);
    assert.equal((await test.get(`${maps}/leaf`)).object.metadata.ownerReferences, undefined);
  });
});

describe("garbage-collector-controller, when other clients write", () => {
  const settings = { garbageCollectorWorkers: 2 };
  let run: ControllerTest;
  beforeEach(async () => {
    run = await startController((context) => runGarbageCollector(context, settings));
  });
  afterEach(() => run.stop());

  /** Makes a ConfigMap; returns a reference to it. */
  async function make(name: string, owners: readonly object[] = []): Promise<object> {
    const { item } = await run.test.post(maps, { metadata: { name, ownerReferences: owners } });
    return { apiVersion: "v1", kind: "ConfigMap", name, uid: item.object.metadata.uid };
  }

  it("does not delete an object that gets a new owner meanwhile", async () => {
    const owner = await make("owner");
    const adopter = await make("adopter");
    await make("child", [owner]);
    run.beforeNext("delete", "configmaps", () =>
      run.test.patch(`${maps}/child`, { metadata: { ownerReferences: [adopter] } }),
    );
    await run.test.remove(`${maps}/owner`);
    await run.until(async () => run.calls("delete", "configmaps") === 1);
    await run.test.remove(`${maps}/adopter`);
    await run.until(async () => run.calls("delete", "configmaps") === 2);
    await run.until(async () => (await run.test.names(maps)).length === 0);
  });

  it("leaves a cluster-scoped object with a namespaced owner as it is", async () => {
    const classes = "scheduling.k8s.io/v1/priorityclasses/";
    const map = await make("map");
    const absent = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", uid: "absent" };
    const post = (name: string, ownerReferences: readonly object[]) =>
      run.test.post(classes, { metadata: { name, ownerReferences }, value: 1 });
    await post("invalid", [{ ...absent, name: "absent" }, map]);
    // It is read, and so is its absent owner.
    await run.until(async () => run.calls("get", "priorityclasses") >= 2);
    await post("valid", [{ ...absent, name: "absent" }]);
    await run.until(async () => !(await run.test.names(classes)).includes("valid"));
    assert.equal(run.calls("patch", "priorityclasses"), 0);
  });

  it("deletes an object that is changed otherwise", async () => {
    const owner = await make("owner");
    await make("child", [owner]);
    run.beforeNext("delete", "configmaps", () =>
      run.test.patch(`${maps}/child`, { data: { key: "value" } }),
    );
    await run.test.remove(`${maps}/owner`);
    await run.until(async () => (await run.test.names(maps)).length === 0);
    assert.equal(run.calls("delete", "configmaps"), 2);
  });
});

describe("garbage-collector-controller, when an owner reference is wrong", () => {
  const settings = { garbageCollectorWorkers: 2 };
  const others = "v1/configmaps/other";
  const classes = "scheduling.k8s.io/v1/priorityclasses/";
  const absent = "00000000-0000-0000-0000-000000000000";
  let run: ControllerTest;
  let owner: string;
  let classUid: string;

  beforeEach(async () => {
    const test = await testRegistry({ namespaces: ["ns", "other", "default"] });
    run = await startController((context) => runGarbageCollector(context, settings), { test });
    owner = await create(maps, "owner");
    classUid = await create(classes, "class");
  });
  afterEach(() => run.stop());

  async function create(collection: string, name: string, more: object = {}): Promise<string> {
    const body = { metadata: { name }, ...(collection === classes && { value: 1 }), ...more };
    const { item } = await run.test.post(collection, body);
    return item.object.metadata.uid;
  }

  const right = () => ({ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner });
  const rightClass = () => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    name: "class",
    uid: classUid,
  });
  const text = ({ kind, apiVersion, name, uid }: ReturnType<typeof right>, namespace: string) =>
    `ownerRef [${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}] ` +
    `does not exist in namespace "${namespace}"`;

  /** Collection of the dependent, its reference, and whether kube-controller-manager deletes it. */
  const references = {
    right: [maps, () => right(), "kept"],
    "right, of a cluster-scoped owner": [maps, () => rightClass(), "kept"],
    "of another namespace": [others, () => right(), "deleted", "reported"],
    "with another name": [maps, () => ({ ...right(), name: "another" }), "deleted"],
    "with another kind": [maps, () => ({ ...right(), kind: "Secret" }), "deleted"],
    "with another group": [
      maps,
      () => ({ ...right(), apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass" }),
      "deleted",
    ],
    "with another UID": [maps, () => ({ ...right(), uid: absent }), "deleted"],
    "with the UID of a cluster-scoped owner": [
      maps,
      () => ({ ...right(), uid: classUid }),
      "deleted",
    ],
    "with an unknown version": [maps, () => ({ ...right(), apiVersion: "v7" }), "kept"],
    "with an unknown version and UID": [
      maps,
      () => ({ ...right(), apiVersion: "v7", uid: absent }),
      "kept",
    ],
    "with an unknown kind": [maps, () => ({ ...right(), kind: "Map", uid: absent }), "kept"],
    "namespaced, of a cluster-scoped object": [classes, () => right(), "kept", "reported"],
    "namespaced and absent, of a cluster-scoped object": [
      classes,
      () => ({ ...right(), uid: absent }),
      "kept",
    ],
  } as const;

  /** Messages of the collector's Events in a namespace. */
  async function messagesIn(namespace: string): Promise<string[]> {
    const events = `v1/events/${namespace}`;
    const names = await run.test.names(events);
    const items = await Promise.all(names.map((name) => run.test.get(`${events}/${name}`)));
    assert.ok(items.every(({ object }) => object.reason === "OwnerRefInvalidNamespace"));
    return items.map(({ object }) => object.message);
  }

  const namespaceOf = (collection: string) => collection.split("/").at(-1)!;
  const dependentOf = (reference: object) => ({
    metadata: { name: "dependent", ownerReferences: [reference] },
  });

  for (const [what, [collection, reference, fate, told]] of Object.entries(references)) {
    it(`${what}: the dependent is ${fate}`, async () => {
      await create(collection, "dependent", dependentOf(reference()));
      // The reference of this one is looked at later.
      const garbage = { name: "garbage", ownerReferences: [{ ...right(), uid: absent }] };
      await create(maps, "garbage", { metadata: garbage });
      await run.until(async () => !(await run.test.names(maps)).includes("garbage"));
      const isKept = async () => (await run.test.names(collection)).includes("dependent");
      if (fate === "deleted") await run.until(async () => !(await isKept()));
      assert.equal(await isKept(), fate === "kept");
      const namespace = namespaceOf(collection);
      const expected = told === undefined ? [] : [text(reference(), namespace)];
      const found = () => messagesIn(namespace || "default");
      await run.until(async () => (await found()).length >= expected.length);
      assert.deepEqual(await found(), expected);
    });
  }

  it("reports a reference that becomes known before the object of its UID", async () => {
    run.holdInformer("configmaps");
    const uid = await create(maps, "late");
    const reference = { ...right(), name: "late", uid };
    await create("v1/secrets/other", "dependent", dependentOf(reference));
    run.releaseInformer("configmaps");
    await run.until(async () => (await run.test.names("v1/secrets/other")).length === 0);
    await run.until(async () => (await messagesIn("other")).length > 0);
    assert.deepEqual(await messagesIn("other"), [text(reference, "other")]);
  });

  it("keeps a cluster-scoped object when the namespaced owner that it names is deleted", async () => {
    await create(classes, "dependent", dependentOf(right()));
    await create(maps, "child", { metadata: { name: "child", ownerReferences: [right()] } });
    await run.test.remove(`${maps}/owner`);
    await run.until(async () => (await run.test.names(maps)).length === 0);
    assert.ok((await run.test.names(classes)).includes("dependent"));
  });
});

describe("garbage-collector-controller, when requests fail", () => {
  it("retries a failed delete, and reports repeated failures", async () => {
    const settings = { garbageCollectorWorkers: 2 };
    const run = await startController((context) => runGarbageCollector(context, settings));
    const { item } = await run.test.post(maps, { metadata: { name: "owner" } });
    const { uid } = item.object.metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    await run.test.post(maps, { metadata: { name: "child", ownerReferences } });
    run.failNext("delete", "configmaps", 5);
    await run.test.remove(`${maps}/owner`);
    await run.until(async () => (await run.test.names(maps)).length === 0);
    assert.equal(run.calls("delete", "configmaps"), 6);
    assert.match(run.reports.join(), /injected/);
    await run.stop();
  });
});
