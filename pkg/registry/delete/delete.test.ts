import assert from "node:assert/strict";
import { memoryBackend, objectStore, type ObjectStore } from "#storage";
import type { DeleteResponse } from "../contract.ts";
import { collected, refusal, testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

/** `Success`, or pending, phase, grace period and finalizers of the object in the response. */
function summaryOf(response: DeleteResponse): unknown {
  if ("status" in response) return response.status.status;
  const { metadata } = response.item.object;
  const { finalizers, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const phase = deletionTimestamp ? "terminating" : "active";
  return [response.pending, phase, deletionGracePeriodSeconds, finalizers];
}

describe("registry deletions", () => {
  let api: TestRegistry;
  beforeEach(async () => {
    api = await testRegistry();
  });

  it("removes an object without finalizers immediately", async () => {
    const { item } = await api.post(maps, { metadata: { name: "a" } });
    const response = await api.remove(`${maps}/a`);
    assert.deepEqual(response, {
      status: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name: "a", kind: "configmaps", uid: item.object.metadata.uid },
      },
      warnings: [],
    });
    const gone = '404 NotFound configmaps "a" not found';
    assert.equal(await refusal(api.get(`${maps}/a`)), gone);
    assert.equal(await refusal(api.remove(`${maps}/a`)), gone);
  });

  it("responds with the object for kinds such as ServiceAccount", async () => {
    await api.post("v1/serviceaccounts/ns", { metadata: { name: "a" } });
    const response = await api.remove("v1/serviceaccounts/ns/a");
    assert.ok("item" in response && !response.pending);
    assert.equal(response.item.object.metadata.resourceVersion, String(await api.store.revision()));
  });

  it("checks preconditions", async () => {
    const { item } = await api.post(maps, { metadata: { name: "a" } });
    const { uid } = item.object.metadata;
    const version = String(item.revision);
    const cases: readonly (readonly [{ uid?: string; resourceVersion?: string }, RegExp])[] = [
      [{ uid: "x" }, /^409 .*on ConfigMap "a": the UID in the precondition \(x\) does not match /],
      [{ uid, resourceVersion: "1" }, /the ResourceVersion in the precondition \(1\) does not ma/],
      [{ uid: "", resourceVersion: "" }, /the UID in the precondition \(\) does not match/],
      [{ uid, resourceVersion: version }, /^accepted$/],
    ];
    for (const [preconditions, wanted] of cases) {
      assert.match(await refusal(api.remove(`${maps}/a`, { preconditions })), wanted);
    }
    const both = { orphanDependents: true, propagationPolicy: "Foreground" } as const;
    assert.match(
      await refusal(api.remove(`${maps}/a`, both)),
      /^422 Invalid DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "F/,
    );
  });

  it("checks the uid again when the object changes meanwhile", async () => {
    const store = objectStore(memoryBackend(), { root: "/registry" });
    let beforeDelete = async (): Promise<unknown> => undefined;
    const slow: ObjectStore = Object.assign(Object.create(store), {
      delete: async (...given: Parameters<ObjectStore["delete"]>) => {
        const meanwhile = beforeDelete;
        beforeDelete = async () => undefined;
        await meanwhile();
        return store.delete(...given);
      },
    });
    api = await testRegistry({ store: slow });
    const { item } = await api.post(maps, { metadata: { name: "a" } });
    const { uid } = item.object.metadata;
    const recreate = async (): Promise<void> => {
      await api.remove(`${maps}/a`);
      await api.post(maps, { metadata: { name: "a" } });
    };
    beforeDelete = recreate;
    const pinned = api.remove(`${maps}/a`, { preconditions: { uid } });
    assert.match(await refusal(pinned), /^409 .*The object might have been deleted and then recre/);
    assert.notEqual((await api.get(`${maps}/a`)).object.metadata.uid, uid);
    // Without a uid, the recreated object is deleted.
    beforeDelete = recreate;
    assert.equal(summaryOf(await api.remove(`${maps}/a`)), "Success");
    assert.match(await refusal(api.get(`${maps}/a`)), /^404/);
  });

  it("sets the finalizer of the propagation policy", async () => {
    const steps = [
      [{ orphanDependents: true }, [true, "terminating", 0, ["orphan"]]],
      [{}, [true, "terminating", 0, ["orphan"]]],
      [{ propagationPolicy: "Foreground" }, [true, "terminating", 0, ["foregroundDeletion"]]],
      [{ propagationPolicy: "Orphan" }, [true, "terminating", 0, ["orphan"]]],
      [{ propagationPolicy: "Background", dryRun: true }, "Success"],
      [{ propagationPolicy: "Background" }, "Success"],
    ] as const;
    await api.post(maps, { metadata: { name: "a" } });
    for (const [options, wanted] of steps) {
      assert.deepEqual(summaryOf(await api.remove(`${maps}/a`, options)), wanted);
    }
  });

  it("marks an object with finalizers once, and removes it with its last finalizer", async () => {
    const finalizers = ["example.com/a", "example.com/b"];
    await api.post(maps, { metadata: { name: "a", finalizers } });
    assert.deepEqual(summaryOf(await api.remove(`${maps}/a`)), [
      true,
      "terminating",
      0,
      finalizers,
    ]);
    const marked = await api.get(`${maps}/a`);
    api.clock.advance(5000);
    await api.remove(`${maps}/a`);
    assert.equal((await api.get(`${maps}/a`)).revision, marked.revision);

    const set = (metadata: object) => api.patch(`${maps}/a`, { metadata });
    const more = await refusal(set({ finalizers: [...finalizers, "example.com/c"] }));
    assert.match(more, /^422 .*Forbidden: no new finalizers can be added if the object is being /);
    const { item } = await set({ finalizers: ["example.com/b"], deletionTimestamp: null });
    assert.equal(item.object.metadata.deletionTimestamp, marked.object.metadata.deletionTimestamp);
    const last = await set({ finalizers: null });
    assert.equal(last.item.object.metadata.finalizers, undefined);
    assert.match(await refusal(api.get(`${maps}/a`)), /^404/);
  });

  it("does not remove an active object whose last finalizer a replace removes", async () => {
    await api.post(maps, { metadata: { name: "a", finalizers: ["example.com/a"] } });
    await api.put(`${maps}/a`, { metadata: { name: "a" } });
    assert.equal((await api.get(`${maps}/a`)).object.metadata.finalizers, undefined);
  });

  it("deletes collections by selector and limit", async () => {
    for (const name of ["a", "b", "c", "d"]) {
      const labels = { odd: name === "a" || name === "c" ? "y" : "n" };
      await api.post(maps, { metadata: { name, labels } });
    }
    const { items, next } = await api.removeAll(maps, { labelSelector: "odd=y", limit: 1 });
    const names = (await collected(items)).map(({ object }) => object.metadata.name);
    assert.deepEqual(names, ["a"]);
    assert.notEqual(next, undefined);
    await api.removeAll(maps, { fieldSelector: "metadata.name!=d" });
    assert.deepEqual(await api.names(maps), ["d"]);
  });

  it("terminates a namespace until it is finalized", async () => {
    await api.post(maps, { metadata: { name: "inside", finalizers: ["example.com/hold"] } });
    const response = await api.remove("v1/namespaces//ns");
    assert.ok("item" in response && response.pending);
    assert.equal(response.item.object.status.phase, "Terminating");
    assert.equal(response.item.object.metadata.deletionGracePeriodSeconds, undefined);

    assert.match(
      await refusal(api.post(maps, { metadata: { name: "late" } })),
      /^403 Forbidden configmaps "late" is forbidden: unable to create new content in namespace ns/,
    );
    await api.patch(`${maps}/inside`, { data: { still: "possible" } });
    await api.remove("v1/namespaces//ns");
    assert.notEqual(await api.get("v1/namespaces//ns"), undefined);

    await api.put("v1/namespaces//ns/finalize", { metadata: { name: "ns" } });
    assert.match(await refusal(api.get("v1/namespaces//ns")), /^404/);
    const release = { metadata: { finalizers: null } };
    assert.equal(
      await refusal(api.patch(`${maps}/inside`, release)),
      '404 NotFound namespaces "ns" not found',
    );
    await api.post("v1/namespaces", { metadata: { name: "ns" } });
    assert.equal(await refusal(api.post(maps, { metadata: { name: "new" } })), "accepted");
  });

  it("rejects the deletion of the namespace default", async () => {
    assert.equal(
      await refusal(api.remove("v1/namespaces//default", { dryRun: true })),
      '403 Forbidden namespaces "default" is forbidden: this namespace may not be deleted',
    );
  });

  it("writes a namespace's status only through /status, and finalizers through neither", async () => {
    const conditions = [{ type: "X", status: "True", reason: "R", message: "M" }];
    const spec = { finalizers: [] };
    await api.patch("v1/namespaces//ns/status", { status: { conditions }, spec });
    await api.patch("v1/namespaces//ns", { status: { conditions: [] }, spec });
    const { object } = await api.get("v1/namespaces//ns");
    assert.deepEqual(object.spec.finalizers, ["kubernetes"]);
    assert.equal(object.status.conditions.length, 1);
    const phase = await refusal(
      api.patch("v1/namespaces//ns/status", { status: { phase: "Terminating" } }),
    );
    assert.match(phase, /status.Phase: Invalid value: "Terminating": may only be 'Active'/);
  });
});
