import assert from "node:assert/strict";
import { seededRandom } from "#base";
import type { StatusError } from "#meta";
import type { PatchOptions, WriteResponse } from "../contract.ts";
import { jsonBody, refusal, testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

/** One line per entry: `Update test f:data{.,f:a}`, with the seconds of the test's minute. */
function owners({ item }: Pick<WriteResponse, "item">): readonly string[] {
  const entries: readonly any[] = item.object.metadata.managedFields ?? [];
  return entries.map(({ operation, manager, subresource, time, fieldsV1, apiVersion }) => {
    const where = subresource === undefined ? "" : `/${subresource}`;
    const when = time === undefined ? "never" : String(Number(time.slice(17, 19)));
    const version = apiVersion === "v1" ? "" : ` ${apiVersion}`;
    return `${operation} ${manager}${where} ${when}${version} ${brief(fieldsV1.value)}`;
  });
}

function brief(fields: object): string {
  const parts = Object.entries(fields).map(([element, below]) => {
    const inner = brief(below as object);
    return inner === "" ? element : `${element}{${inner}}`;
  });
  return parts.join(",");
}

/** Applies a ConfigMap's data and metadata by name. */
function apply(
  api: TestRegistry,
  manager: string,
  object: object,
  options: Partial<PatchOptions> = {},
): Promise<WriteResponse> {
  const { metadata, ...rest } = object as { readonly metadata?: object };
  const document = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", ...metadata },
    ...rest,
  };
  const all = { patchType: "apply", fieldManager: manager, ...options } as const;
  return api.patch(`${maps}/a`, document, all);
}

describe("server-side apply", () => {
  it("creates, merges, gives up, and takes by force", async () => {
    const api = await testRegistry();
    const made = await apply(api, "a", { data: { x: "1", y: "1" } });
    assert.equal(made.created, true);
    await apply(api, "b", { data: { z: "1" } });
    assert.equal(
      await refusal(apply(api, "b", { data: { x: "2", y: "2" } })),
      '409 Conflict Apply failed with 2 conflicts: conflicts with "a":\n- .data.x\n- .data.y',
    );
    const forced = await apply(api, "b", { data: { x: "2" } }, { force: true });
    assert.deepEqual(forced.item.object.data, { x: "2", y: "1" });
    assert.deepEqual(owners(forced), ["Apply a 0 f:data{f:y}", "Apply b 0 f:data{f:x}"]);
    const { item } = await apply(api, "a", {});
    assert.deepEqual(item.object.data, { x: "2" });
  });

  it("names every conflict as a cause", async () => {
    const api = await testRegistry();
    await api.post(maps, { metadata: { name: "a" }, data: { x: "1" } });
    const error: StatusError = await apply(api, "b", { data: { x: "2" } }).then(
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

  it("answers a dry run and stores nothing", async () => {
    const api = await testRegistry();
    const dry = await apply(api, "a", { data: { x: "1" } }, { dryRun: true });
    assert.deepEqual([dry.created, dry.item.object.data], [true, { x: "1" }]);
    assert.match(await refusal(api.get(`${maps}/a`)), /^404/);
  });

  const refused: readonly (readonly [string, unknown, RegExp])[] = [
    ["another kind", { kind: "Secret", apiVersion: "v1" }, /^400 .*invalid object type: \/v1, Kin/],
    ["another name", { metadata: { name: "b" } }, /^400 .*the name of the object \(b\) does not/],
    ["owners", { metadata: { managedFields: [] } }, /^400 .*metadata.managedFields must be nil$/],
    ["unknown fields", { bogus: 1 }, /^500 - failed to create typed .*\.bogus: field not declared/],
    ["wrong types", { data: { a: 1 } }, /^500 .*\.data\.a: expected string, got &value.valueUns/],
    ["a uid of nothing", { metadata: { uid: "x" } }, /^409 .*uid mismatch: the provided object/],
  ];
  for (const [title, object, expected] of refused) {
    it(`refuses ${title}`, async () => {
      const api = await testRegistry();
      assert.match(await refusal(apply(api, "a", object as object)), expected);
    });
  }

  it("refuses what is no document", async () => {
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

  it("takes over from kubectl's client-side apply, and keeps its annotation", async () => {
    const api = await testRegistry();
    const name = "kubectl.kubernetes.io/last-applied-configuration";
    const last = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { x: "1" } };
    await api.post(
      maps,
      { metadata: { name: "a", annotations: { [name]: JSON.stringify(last) } }, data: { x: "1" } },
      { fieldManager: "kubectl-client-side-apply" },
    );
    assert.match(await refusal(apply(api, "other", { data: { x: "2" } })), /^409/);
    const { item } = await apply(api, "kubectl", { data: { x: "2" } });
    assert.equal(item.object.data.x, "2");
    const expected = '{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":';
    assert.equal(item.object.metadata.annotations[name], `${expected}{"name":"a"}}\n`);
  });

  it("of the same again never writes, after any earlier applies in any version", async () => {
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
      assert.deepEqual(owners(twice), owners(once), why);
    }
  });

  it("of many managers at once loses nothing", async () => {
    const api = await testRegistry();
    const names = Array.from({ length: 100 }, (_, at) => `m${at}`);
    await Promise.all(names.map((name) => apply(api, name, { data: { [name]: "1" } })));
    const { object } = await api.get(`${maps}/a`);
    assert.equal(Object.keys(object.data).length, names.length);
    assert.equal(object.metadata.managedFields.length, names.length);
  });

  it("meets a wall of owners in time", async () => {
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
    const answer = await api.registry.patch(
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
    assert.equal(answer.item.object.metadata.managedFields.length, 10);
    // Seconds of CPU; what is quadratic here takes minutes.
    assert.ok(process.cpuUsage().user - start < 10_000_000);
  });
});
