import assert from "node:assert/strict";
import { seededRandom } from "#base";
import type { StatusError } from "#meta";
import type { WriteResponse } from "../contract.ts";
import { applyConfigMap, jsonBody, managedFieldsLines, refusal, testRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

describe("server-side apply", () => {
  it("creates, merges, removes fields that a manager drops, and forces conflicts", async () => {
    const api = await testRegistry();
    const made = await applyConfigMap(api, "a", { data: { x: "1", y: "1" } });
    assert.equal(made.created, true);
    await applyConfigMap(api, "b", { data: { z: "1" } });
    assert.equal(
      await refusal(applyConfigMap(api, "b", { data: { x: "2", y: "2" } })),
      '409 Conflict Apply failed with 2 conflicts: conflicts with "a":\n- .data.x\n- .data.y',
    );
    const forced = await applyConfigMap(api, "b", { data: { x: "2" } }, { force: true });
    assert.deepEqual(forced.item.object.data, { x: "2", y: "1" });
    assert.deepEqual(managedFieldsLines(forced), [
      "Apply a 0 f:data{f:y}",
      "Apply b 0 f:data{f:x}",
    ]);
    const { item } = await applyConfigMap(api, "a", {});
    assert.deepEqual(item.object.data, { x: "2" });
  });

  it("reports every conflict as a cause of the Status", async () => {
    const api = await testRegistry();
    await api.post(maps, { metadata: { name: "a" }, data: { x: "1" } });
    const error: StatusError = await applyConfigMap(api, "b", { data: { x: "2" } }).then(
      () => assert.fail("no conflict"),
      (fault: unknown) => fault as StatusError,
    );
    assert.deepEqual(error.status.details?.causes, [
      {
        reason: "FieldManagerConflict",
        message: 'conflict with "test" using v1',
        field: ".data.x",
      },
    ]);
  });

  it("stores nothing in a dry run", async () => {
    const api = await testRegistry();
    const dry = await applyConfigMap(api, "a", { data: { x: "1" } }, { dryRun: true });
    assert.deepEqual([dry.created, dry.item.object.data], [true, { x: "1" }]);
    assert.match(await refusal(api.get(`${maps}/a`)), /^404/);
  });

  const refused: readonly (readonly [string, unknown, RegExp])[] = [
    ["another kind", { kind: "Secret", apiVersion: "v1" }, /^400 .*invalid object type: \/v1, Kin/],
    ["another name", { metadata: { name: "b" } }, /^400 .*the name of the object \(b\) does not/],
    [
      "managedFields",
      { metadata: { managedFields: [] } },
      /^400 .*metadata.managedFields must be nil$/,
    ],
    ["unknown fields", { bogus: 1 }, /^500 - failed to create typed .*\.bogus: field not declared/],
    ["wrong types", { data: { a: 1 } }, /^500 .*\.data\.a: expected string, got &value.valueUns/],
    [
      "a uid without an existing object",
      { metadata: { uid: "x" } },
      /^409 .*uid mismatch: the provided object/,
    ],
  ];
  for (const [title, object, expected] of refused) {
    it(`rejects ${title}`, async () => {
      const api = await testRegistry();
      assert.match(await refusal(applyConfigMap(api, "a", object as object)), expected);
    });
  }

  it("rejects bodies that are not a YAML map", async () => {
    const api = await testRegistry();
    const send = (text: string): Promise<string> =>
      refusal(
        api.registry.patch(
          api.request(`${maps}/a`),
          { bytes: Buffer.from(text), format: "yaml" },
          {
            dryRun: false,
            fieldManager: "m",
            fieldValidation: "Warn",
            patchType: "apply",
            force: false,
          },
        ),
      );
    assert.match(await send(""), /^400 BadRequest invalid object type: \/, Kind=$/);
    assert.match(await send("[]"), /^400 .*error decoding YAML: .*cannot unmarshal array into Go/);
    assert.match(await send("a: [b"), /^400 .*error converting YAML to JSON: yaml: line 1: did no/);
    const deep = `{"apiVersion":"v1","kind":"ConfigMap","data":${'{"a":'.repeat(5000)}1`;
    assert.match(await send(`${deep}${"}".repeat(5001)}`), /^(400|500) /);
  });

  it("takes over fields of kubectl's client-side apply and updates its annotation", async () => {
    const api = await testRegistry();
    const name = "kubectl.kubernetes.io/last-applied-configuration";
    const last = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { x: "1" } };
    await api.post(
      maps,
      { metadata: { name: "a", annotations: { [name]: JSON.stringify(last) } }, data: { x: "1" } },
      { fieldManager: "kubectl-client-side-apply" },
    );
    assert.match(await refusal(applyConfigMap(api, "other", { data: { x: "2" } })), /^409/);
    const { item } = await applyConfigMap(api, "kubectl", { data: { x: "2" } });
    assert.equal(item.object.data.x, "2");
    const expected = '{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":';
    assert.equal(item.object.metadata.annotations[name], `${expected}{"name":"a"}}\n`);
  });

  it("does not write when a configuration is applied twice, whatever the versions", async () => {
    const api = await testRegistry();
    const random = seededRandom("again");
    const scaleTargetRef = { kind: "Deployment", name: "d", apiVersion: "apps/v1" };
    const write = (version: string, manager: string, object: object): Promise<WriteResponse> => {
      const apiVersion = `autoscaling/${version}`;
      const document = { apiVersion, kind: "HorizontalPodAutoscaler", ...object };
      const options = { patchType: "apply", fieldManager: manager, force: true } as const;
      return api.patch(`${apiVersion}/horizontalpodautoscalers/ns/h`, document, options);
    };
    for (let round = 0; round < 60; round++) {
      const manager = random.pick(["a", "b", "c"]);
      const version = random.pick(["v1", "v2"]);
      const own = { [`${manager}-${random.below(3)}`]: String(random.below(3)) };
      const replicas = random.next() < 0.5 ? { minReplicas: 1 + random.below(2) } : {};
      const spec = { scaleTargetRef, maxReplicas: 3 + random.below(3), ...replicas };
      const object = { metadata: { name: "h", labels: own }, spec };
      const once = await write(version, manager, object);
      api.clock.advance(1000);
      const twice = await write(version, manager, object);
      const why = `round ${round}: ${version} ${manager} ${JSON.stringify(object)}`;
      assert.equal(twice.item.revision, once.item.revision, why);
      assert.deepEqual(managedFieldsLines(twice), managedFieldsLines(once), why);
    }
  });

  it("loses no field of 100 concurrent managers", async () => {
    const api = await testRegistry();
    const names = Array.from({ length: 100 }, (_, at) => `m${at}`);
    await Promise.all(names.map((name) => applyConfigMap(api, name, { data: { [name]: "1" } })));
    const { object } = await api.get(`${maps}/a`);
    assert.equal(Object.keys(object.data).length, names.length);
    assert.equal(object.metadata.managedFields.length, names.length);
  });

  it("caps 8000 entries of managedFields in linear time", async () => {
    const api = await testRegistry();
    await api.post(maps, { metadata: { name: "a" }, data: { x: "1" } });
    const managedFields = Array.from({ length: 8000 }, (_, at) => ({
      manager: `m${at}`,
      operation: "Update",
      apiVersion: "v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { [`f:k${at}`]: {} } },
    }));
    const start = process.cpuUsage().user;
    const response = await api.registry.patch(
      api.request(`${maps}/a`),
      jsonBody({ metadata: { managedFields }, data: { x: "2" } }),
      {
        dryRun: false,
        fieldManager: "me",
        fieldValidation: "Warn",
        patchType: "merge",
        force: undefined,
      },
    );
    assert.equal(response.item.object.metadata.managedFields.length, 10);
    // In µs of CPU; a quadratic algorithm takes minutes.
    assert.ok(process.cpuUsage().user - start < 10_000_000);
  });
});
