import assert from "node:assert/strict";
import { managedFieldsAfterUpdate } from "#fieldmanager";
import {
  assign,
  atOnce,
  deepClone,
  isJsonObject,
  type JsonObject,
  OpaqueJson,
  type Random,
  seededRandom,
} from "#base";
import type { Resource } from "#meta";
import { arbitrary } from "#schema";
import { memoryBackend, objectStore, StoreFault } from "#storage";
import type { WriteResponse } from "../contract.ts";
import {
  updateManagedFields,
  managedWrite,
  servedJsonInSlices,
  emptyObject,
} from "./managed-fields.ts";
import { applyConfigMap, managedFieldsLines, refusal, testRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

describe("managed fields", () => {
  it("are dropped if elements of an associative list lack keys, as in kube-apiserver", async () => {
    const api = await testRegistry();
    const accounts = "v1/serviceaccounts/ns";
    const secrets = [{ name: "s" }];
    await api.post(accounts, { metadata: { name: "a" }, secrets });
    const { item } = await api.put(`${accounts}/a`, {
      metadata: { name: "a" },
      secrets: [{ kind: "Secret" }],
    });
    assert.equal(item.object.metadata.managedFields, undefined);
  });

  it("assign all tracked fields of a new object to its creator", async () => {
    const api = await testRegistry();
    const object = {
      metadata: { name: "a", labels: { l: "1" }, annotations: {} },
      data: { b: "1", a: "1" },
    };
    const made = await api.post(maps, object);
    const fields = "f:data{.,f:a,f:b},f:metadata{f:labels{.,f:l}}";
    assert.deepEqual(managedFieldsLines(made), [`Update test 0 ${fields}`]);
    const named = await api.post(
      maps,
      { metadata: { name: "b" }, data: { a: "1" } },
      {
        fieldManager: "me",
      },
    );
    assert.deepEqual(managedFieldsLines(named), ["Update me 0 f:data{.,f:a}"]);
    assert.deepEqual(managedFieldsLines(await api.post(maps, { metadata: { name: "c" } })), []);
  });

  it("move changed fields to the manager that changes them, with the time of the change", async () => {
    const api = await testRegistry();
    await api.post(maps, { metadata: { name: "a" }, data: { a: "1", b: "1" } });
    api.clock.advance(5000);
    const patched = await api.patch(
      `${maps}/a`,
      { data: { b: "2", c: "1" } },
      {
        fieldManager: "p",
      },
    );
    const both = ["Update test 0 f:data{.,f:a}", "Update p 5 f:data{f:b,f:c}"];
    assert.deepEqual(managedFieldsLines(patched), both);
    api.clock.advance(5000);
    const put = { metadata: { name: "a" }, data: { b: "2", c: "1" } };
    assert.deepEqual(managedFieldsLines(await api.put(`${maps}/a`, put, { fieldManager: "q" })), [
      "Update test 0 f:data",
      "Update p 5 f:data{f:b,f:c}",
    ]);
  });

  it("keep their timestamps if an apply changes nothing, which then writes nothing", async () => {
    const api = await testRegistry();
    const made = await applyConfigMap(api, "m", { data: { a: "1" } });
    api.clock.advance(5000);
    const again = await applyConfigMap(api, "m", { data: { a: "1" } });
    assert.equal(again.item.revision, made.item.revision);
    assert.deepEqual(managedFieldsLines(again), managedFieldsLines(made));
    const null_ = await applyConfigMap(api, "m", { data: { a: "1", b: null } });
    api.clock.advance(5000);
    const nullAgain = await applyConfigMap(api, "m", { data: { a: "1", b: null } });
    assert.equal(nullAgain.item.revision, null_.item.revision);
    assert.deepEqual(managedFieldsLines(nullAgain), ["Apply m 5 f:data{f:a,f:b}"]);
  });

  it("have an entry per subresource: status tracks no spec, the main resource no status", async () => {
    const api = await testRegistry();
    const path = "policy/v1/poddisruptionbudgets/ns";
    await api.post(path, {
      metadata: { name: "a" },
      spec: { maxUnavailable: 1 },
      status: { currentHealthy: 3 },
    });
    const condition = {
      type: "X",
      status: "True",
      reason: "R",
      lastTransitionTime: "2030-01-01T00:00:00Z",
    };
    const status = { currentHealthy: 2, conditions: [condition] };
    const written = await api.patch(`${path}/a/status`, { spec: { maxUnavailable: 5 }, status });
    assert.deepEqual(managedFieldsLines(written), [
      "Update test 0 policy/v1 f:spec{f:maxUnavailable}",
      'Update test/status 0 policy/v1 f:status{f:conditions{.,k:{"type":"X"}{.,' +
        "f:lastTransitionTime,f:message,f:reason,f:status,f:type}},f:currentHealthy}",
    ]);
  });

  it("convert field paths between the versions of the managers", async () => {
    const api = await testRegistry();
    const path = "horizontalpodautoscalers/ns";
    const scaleTargetRef = { kind: "Deployment", name: "d", apiVersion: "apps/v1" };
    await api.post(`autoscaling/v1/${path}`, {
      metadata: { name: "h" },
      spec: { scaleTargetRef, maxReplicas: 3, minReplicas: 2 },
    });
    const patched = await api.patch(
      `autoscaling/v2/${path}/h`,
      { spec: { maxReplicas: 4 } },
      {
        fieldManager: "two",
      },
    );
    assert.deepEqual(managedFieldsLines(patched), [
      "Update test 0 autoscaling/v1 f:spec{f:minReplicas,f:scaleTargetRef," +
        "f:targetCPUUtilizationPercentage}",
      "Update two 0 autoscaling/v2 f:spec{f:maxReplicas}",
    ]);
  });

  it("can be replaced and cleared by a client; invalid ones are ignored", async () => {
    const api = await testRegistry();
    await api.post(maps, { metadata: { name: "a" }, data: { a: "1" } });
    const entry = {
      manager: "other",
      operation: "Apply",
      apiVersion: "v1",
      time: "2030-01-01T00:00:07Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { "f:a": {}, "f:gone": {} } },
    };
    const replace = (value: unknown): Promise<WriteResponse> =>
      api.patch(`${maps}/a`, { metadata: { managedFields: value } });
    const replaced = ["Apply other 7 f:data{f:a,f:gone}"];
    assert.deepEqual(managedFieldsLines(await replace([entry])), replaced);
    const invalid = [
      [{ ...entry, operation: "Patch" }],
      [{ ...entry, apiVersion: "" }],
      [{ ...entry, fieldsV1: { a: {} } }],
      [{ ...entry, fieldsV1: 5 }],
      null,
    ];
    for (const value of invalid) {
      assert.deepEqual(managedFieldsLines(await replace(value)), replaced);
    }
    assert.deepEqual(managedFieldsLines(await replace([{ ...entry, apiVersion: "v0" }])), []);
    assert.deepEqual(
      managedFieldsLines(await replace([entry])),
      replaced,
      "cleared managedFields can be set",
    );
    assert.deepEqual(managedFieldsLines(await replace([{ ...entry, apiVersion: "a/b/c" }])), []);
    await replace([entry]);
    assert.deepEqual(managedFieldsLines(await replace([])), []);
    await replace([entry]);
    assert.deepEqual(managedFieldsLines(await replace([{}])), []);
    const untracked = await api.patch(`${maps}/a`, { data: { b: "1" } });
    assert.deepEqual(managedFieldsLines(untracked), [], "an update does not track again");
    assert.deepEqual(managedFieldsLines(await applyConfigMap(api, "m", { data: { c: "1" } })), [
      "Apply m 0 f:data{f:c}",
      "Update before-first-apply 0 f:data{.,f:a,f:b}",
    ]);
  });

  it("are restored if mutating admission makes them invalid", async () => {
    const api = await testRegistry({
      mutating: [
        ({ object }) => {
          if (object.data?.spoil) object.metadata.managedFields = [{ operation: "Nope" }];
          return Promise.resolve([]);
        },
      ],
    });
    const made = await api.post(maps, { metadata: { name: "a" }, data: { spoil: "1" } });
    assert.deepEqual(managedFieldsLines(made), ["Update test 0 f:data{.,f:spoil}"]);
    assert.match(made.warnings[0] ?? "", /^\.metadata\.managedFields was in an invalid state af/);
  });

  it("are dropped if the object is too large for the store, except by apply", async () => {
    const store = objectStore(memoryBackend(), { root: "/registry" });
    const limited = {
      ...boundTo(store),
      create: (key: string, value: Uint8Array, options?: object) => {
        if (value.length > 2000 && Buffer.from(value).includes("managedFields")) {
          throw new StoreFault({ kind: "too-large", message: "too large" });
        }
        return store.create(key, value, options);
      },
    };
    const api = await testRegistry({ store: limited });
    const data = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`key-${at}`, "x"]));
    assert.deepEqual(
      managedFieldsLines(await api.post(maps, { metadata: { name: "b" }, data })),
      [],
    );
    assert.match(await refusal(applyConfigMap(api, "m", { data })), /too large/);
  });

  it("of a create are the same in slices and at once, for long lists and maps", async () => {
    const { catalog, request } = await testRegistry();
    const registry = { catalog, timestamp: () => "2030-01-01T00:00:00Z" } as never;
    const long = <V>(make: (index: number) => V): V[] =>
      Array.from({ length: 2_500 }, (_, index) => make(index));
    const labels = Object.fromEntries(long((i) => [`k${i}`, ""]));
    const finalizers = long((i) => (i % 500 === 0 ? `a"/${i % 1_000}` : `a/${i}`));
    const ports = long((i) => ({ port: i, protocol: i % 2 === 0 ? "TCP" : "UDP", name: `p${i}` }));
    const containers = long((i) => ({ name: `c${i % 2_000}`, image: "i" }));
    const specs = { services: { ports }, pods: { containers }, configmaps: undefined };
    for (const [plural, spec] of Object.entries(specs)) {
      const write = request(`v1/${plural}/ns`);
      const [plain, inSlices] = [false, true].map((isLarge) => {
        const object: any = { metadata: { name: "a", labels, finalizers }, spec, data: labels };
        const change = { object, old: undefined, fieldManager: "me", isLarge };
        atOnce(updateManagedFields(registry, write, change));
        return JSON.stringify(object.metadata.managedFields);
      });
      assert.ok(inSlices !== undefined && inSlices.length > 50_000);
      assert.equal(inSlices, plain, plural);
    }
  });

  it("of a create equal those of an update of the zero value, for every kind", async () => {
    const { catalog, request } = await testRegistry();
    const registry = { catalog, timestamp: () => "2030-01-01T00:00:00Z" } as never;
    for (const resource of catalog.resources) {
      const { struct, groupVersion, kind } = resource;
      const random = seededRandom(`${groupVersion} ${kind.kind}`);
      const asStored: Resource = { ...resource, served: { ...resource.served, convert: "hub" } };
      for (let round = 0; round < 5; round++) {
        const object = arbitrary(struct, random) as JsonObject & { readonly metadata: object };
        const { managedFields: _entries, ...metadata } = object.metadata as any;
        const made = { ...object, metadata };
        const write = managedWrite(registry, { ...request(maps), resource }, "me");
        const compared = atOnce(
          managedFieldsAfterUpdate(write, {
            *objects() {
              return { live: emptyObject(struct), next: yield* servedJsonInSlices(asStored, made) };
            },
            creation: true,
            entries: undefined,
            sent: undefined,
          }),
        );
        // Random associative lists may lack keys; then there are no managedFields.
        if (compared.length === 0) continue;
        for (const isLarge of [false, true]) {
          const title = `${groupVersion} ${kind.kind}, ${isLarge ? "in slices" : "at once"}`;
          delete metadata.managedFields;
          const change = { object: made, old: undefined, fieldManager: "me", isLarge };
          const created = { ...request(maps), resource: asStored };
          atOnce(updateManagedFields(registry, created, change));
          assert.equal(JSON.stringify(metadata.managedFields), JSON.stringify(compared), title);
        }
      }
    }
  });

  it("of an update are the same whether whole objects or only what differs is compared", async () => {
    const { catalog, request } = await testRegistry();
    const registry = { catalog, timestamp: () => "2030-01-01T00:00:00Z" } as never;
    let compared = 0;
    for (const resource of catalog.resources) {
      const { struct, groupVersion, kind } = resource;
      const asStored: Resource = { ...resource, served: { ...resource.served, convert: "hub" } };
      const target = { ...request(maps), resource: asStored };
      const random = seededRandom(`update of ${groupVersion} ${kind.kind}`);
      for (let round = 0; round < 12; round++) {
        const [old, other] = [withMetadata(struct, random), withMetadata(struct, random)];
        const object = mixed(old, other, random);
        const creation = { object: old, old: undefined, fieldManager: "before" };
        atOnce(updateManagedFields(registry, target, creation));
        const entries = [false, true].map((isLarge) => {
          const updated = deepClone(object);
          const change = { object: updated, old, fieldManager: "me", isLarge };
          atOnce(updateManagedFields(registry, target, change));
          return JSON.stringify(updated.metadata.managedFields);
        });
        if (entries[1]?.includes("before") && entries[1].includes("me")) compared++;
        assert.equal(entries[0], entries[1], `${groupVersion} ${kind.kind} ${round}`);
      }
    }
    assert.ok(compared > 100, `${compared} updates with two managers`);
  });
});

function withMetadata(struct: Resource["struct"], random: Random): any {
  const object = arbitrary(struct, random) as any;
  const { managedFields: _entries, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}

/** A copy of `left` in which some members, at any depth, are those of `right`. */
function mixed(left: unknown, right: unknown, random: Random): any {
  if (random.below(8) === 0) return deepClone(right);
  if (!isJsonObject(left) || !isJsonObject(right) || left instanceof OpaqueJson) {
    return deepClone(left);
  }
  const result: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const [mine, other] = [left, right].map(
      (each) => Object.getOwnPropertyDescriptor(each, name)?.value,
    );
    const value = mixed(mine, other, random);
    if (value !== undefined) assign(result, name, value);
  }
  return result;
}

function boundTo<T extends object>(instance: T): T {
  return new Proxy(instance, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
