import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { deepEqual } from "#base";
import type { PatchOptions } from "../contract.ts";
import { refusal, testRegistry, type TestRegistry } from "../testing.ts";
import {
  applyPath,
  createSteps,
  patchPath,
  restoreSteps,
  subresourcePath,
  updatePath,
} from "./pipeline.ts";
import type { WriteStep } from "./write.ts";

const maps = "v1/configmaps/ns";
const leases = "coordination.k8s.io/v1/leases/ns";

describe("registry writes", () => {
  let api: TestRegistry;
  beforeEach(async () => {
    api = await testRegistry();
  });

  it("rejects a create of a review without a handler with 501", async () => {
    const review = { spec: { token: "t" } };
    assert.equal(
      await refusal(api.post("authentication.k8s.io/v1/tokenreviews/", review)),
      "501 - this server does not answer a TokenReview",
    );
  });

  it("sets the system fields of a new object and ignores those of the client", async () => {
    const { item, created } = await api.post(maps, {
      metadata: {
        name: "a",
        uid: "mine",
        creationTimestamp: "2001-02-03T04:05:06Z",
        deletionTimestamp: "2001-02-03T04:05:06Z",
        deletionGracePeriodSeconds: 7,
        selfLink: "/x",
        generation: 5,
      },
    });
    assert.equal(created, true);
    const { uid, ...metadata } = item.object.metadata;
    assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual(metadata, {
      name: "a",
      namespace: "ns",
      creationTimestamp: "2030-01-01T00:00:00Z",
      generation: 5,
      resourceVersion: String(item.revision),
    });
    const stored = Buffer.from((await api.get(`${maps}/a`)).bytes).toString();
    assert.match(stored, /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"a"/);
    assert.doesNotMatch(stored, /resourceVersion/);
  });

  it("rejects invalid creates with Kubernetes' messages", async () => {
    await api.post(maps, { metadata: { name: "taken" } });
    await api.post(maps, { metadata: { name: "held", finalizers: ["example.com/a"] } });
    await api.remove(`${maps}/held`);
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [{ metadata: { name: "taken" } }, /^409 AlreadyExists configmaps "taken" already exists$/],
      [{ metadata: { name: "held" } }, /^409 \w+ object is being deleted: configmaps "held" alre/],
      [{ metadata: { name: "x", namespace: "other" } }, /^400 BadRequest the namespace of the pr/],
      [{}, /^422 Invalid ConfigMap "" is invalid: metadata.name: Required value: name or/],
      [{ metadata: { name: "x", resourceVersion: "12" } }, /^500 - resourceVersion should not be/],
      [{ kind: "Secret" }, /^400 \w+ Secret in version "v1" cannot be handled as a ConfigMap: co/],
      [{ kind: "Nonsense" }, /no kind "Nonsense" is registered for version "v1" in scheme/],
      [{ apiVersion: "a/b/c" }, /^400 \w+ the object provided .*: unexpected GroupVersion string/],
      ["[]", /json: cannot unmarshal array into Go value of type struct \{ .* \} \(5b5d\)$/],
      ["", /json parse error: unexpected end of JSON input \(<empty>\)$/],
      ['{"metadata":{"name":5}}', /json: cannot unmarshal number into Go struct field ObjectMeta/],
    ];
    for (const [object, wanted] of cases) {
      assert.match(await refusal(api.post(maps, object)), wanted);
    }
    const elsewhere = await refusal(api.post("v1/configmaps/nowhere", { metadata: { name: "a" } }));
    assert.equal(elsewhere, '404 NotFound namespaces "nowhere" not found');
  });

  it("generates names from generateName", async () => {
    const first = await api.post(maps, { metadata: { generateName: "gen-" } });
    assert.match(first.item.object.metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    const long = await api.post(maps, { metadata: { generateName: "g".repeat(80) } });
    assert.match(long.item.object.metadata.name, /^g{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    await api.post(maps, { metadata: { name: "named", generateName: "gen-" } });
    const taken = api.post(maps, { metadata: { name: "named", generateName: "gen-" } });
    assert.match(await refusal(taken), /^409 .*the server was not able to generate a unique name/);
  });

  it("retries with another name when the generated one is taken", async () => {
    const twin = await testRegistry({ seed: 7 });
    const first = await twin.post(maps, { metadata: { generateName: "gen-" } });
    const { name } = first.item.object.metadata;
    const again = await testRegistry({ seed: 7 });
    await again.store.create(`/configmaps/ns/${name}`, first.item.bytes);
    const other = await again.post(maps, { metadata: { generateName: "gen-" } });
    assert.notEqual(other.item.object.metadata.name, name);
  });

  it("reports unknown and duplicate fields as fieldValidation says", async () => {
    const text = '{"metadata":{"name":"a","bogus":1},"dat":{},"data":{"k":"1","k":"2"}}';
    const strict = api.post(maps, text, { fieldValidation: "Strict" });
    assert.match(
      await refusal(strict),
      /strict decoding error: unknown field "metadata.bogus", unknown field "dat", duplicate fie/,
    );
    const { warnings } = await api.post(maps, text, { dryRun: true });
    assert.deepEqual(warnings, [
      'unknown field "metadata.bogus"',
      'unknown field "dat"',
      'duplicate field "data.k"',
    ]);
    const silent = await api.post(maps, text, { fieldValidation: "Ignore" });
    assert.deepEqual(silent.warnings, []);
    assert.deepEqual({ ...silent.item.object.data }, { k: "2" });
  });

  it("checks resourceVersion, uid, name and namespace of a replace", async () => {
    const { item } = await api.post(maps, { metadata: { name: "a" }, data: { k: "1" } });
    const first = String(item.revision);
    const metadata = { name: "a", resourceVersion: first };
    await api.put(`${maps}/a`, { metadata, data: { k: "2" } });
    const { uid } = item.object.metadata;
    const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ name: "a", resourceVersion: first }, /^409 .*configmaps "a": the object has been modifi/],
      [{ name: "a", resourceVersion: "0" }, /^accepted$/],
      [{ name: "a" }, /^accepted$/],
      [{ name: "a", resourceVersion: "abc" }, /^500 - strconv.ParseUint: parsing "abc": invalid /],
      [{ name: "a", resourceVersion: "999999999" }, /^409 Conflict/],
      [{ name: "a", uid }, /^accepted$/],
      [
        { name: "a", uid: "other" },
        /^409 .*StorageError: invalid object, Code: 4, Key: \/registry\/configmaps\/ns\/a, Resour/,
      ],
      [{ name: "b" }, /^400 \w+ the name of the object \(b\) does not match the name on the URL /],
      [{}, /^400 \w+ the name of the object \(a based on URL\) was undeterminable: name must be/],
      [{ name: "a", namespace: "x" }, /^400 \w+ the namespace of the provided object does not ma/],
    ];
    for (const [metadata, wanted] of cases) {
      assert.match(await refusal(api.put(`${maps}/a`, { metadata, data: { k: "3" } })), wanted);
    }
    const missing = await refusal(api.put(`${maps}/zz`, { metadata: { name: "zz", uid: "x" } }));
    assert.equal(missing, '404 NotFound configmaps "zz" not found');
  });

  it("preserves system fields in a replace", async () => {
    const { item } = await api.post(maps, { metadata: { name: "a", labels: { l: "1" } } });
    api.clock.advance(10_000);
    const creationTimestamp = "2001-02-03T04:05:06Z";
    const sent = { name: "a", creationTimestamp, generation: 9, selfLink: "/x" };
    const after = (await api.put(`${maps}/a`, { metadata: sent })).item.object.metadata;
    assert.equal(after.creationTimestamp, item.object.metadata.creationTimestamp);
    assert.equal(after.uid, item.object.metadata.uid);
    assert.equal(after.generation, undefined);
    assert.equal(after.labels, undefined);
  });

  it("does not write an update that changes nothing", async () => {
    const object = { metadata: { name: "a", labels: { b: "1", a: "2" } }, data: { k: "1" } };
    const { item } = await api.post(maps, object);
    const before = await api.store.revision();
    const same = await api.put(`${maps}/a`, object);
    const patched = await api.patch(`${maps}/a`, { data: { k: "1" } });
    assert.equal(same.item.revision, item.revision);
    assert.equal(patched.item.revision, item.revision);
    assert.equal(await api.store.revision(), before);
  });

  it("creates by PUT if the kind allows it", async () => {
    const body = (metadata: object) => ({ metadata, spec: { holderIdentity: "me" } });
    const created = await api.put(`${leases}/l`, body({ name: "l", resourceVersion: "5" }));
    assert.equal(created.created, true);
    const refused = await refusal(api.put(`${leases}/l`, body({ name: "l" })));
    assert.match(
      refused,
      /^422 Invalid leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid /,
    );
    const { resourceVersion } = created.item.object.metadata;
    const renewed = await api.put(`${leases}/l`, body({ name: "l", resourceVersion }));
    assert.equal(renewed.created, false);
    assert.match(
      await refusal(api.put(`${leases}/l3`, body({ name: "l3", uid: "abc" }))),
      /^409 .*UID in precondition: abc, UID in object meta: $/,
    );
    assert.match(await refusal(api.put(`${leases}/L4`, body({ name: "L4" }))), /^422 .*metadata./);
  });

  it("stores nothing in a dry run", async () => {
    const before = await api.store.revision();
    const dry = await api.post(maps, { metadata: { name: "a" } }, { dryRun: true });
    assert.equal(dry.item.revision, 0);
    assert.equal(dry.item.object.metadata.resourceVersion, undefined);
    assert.equal(await api.store.revision(), before);
    const { item } = await api.post(maps, { metadata: { name: "a" } });
    const over = api.post(maps, { metadata: { name: "a" } }, { dryRun: true });
    assert.match(await refusal(over), /^409 AlreadyExists/);
    const changed = await api.patch(`${maps}/a`, { data: { k: "dry" } }, { dryRun: true });
    assert.deepEqual({ ...changed.item.object.data }, { k: "dry" });
    assert.equal(changed.item.object.metadata.resourceVersion, String(item.revision));
    assert.equal((await api.remove(`${maps}/a`, { dryRun: true })) !== undefined, true);
    assert.equal((await api.get(`${maps}/a`)).revision, item.revision);
  });

  it("applies JSON, merge and strategic merge patches", async () => {
    await api.post(maps, { metadata: { name: "a" }, data: { a: "1", b: "2" } });
    const data = async (patch: unknown, patchType: "json" | "merge" | "strategic") => {
      const { item } = await api.patch(`${maps}/a`, patch, { patchType });
      return { ...item.object.data };
    };
    assert.deepEqual(await data({ data: { a: null, c: "3" } }, "merge"), { b: "2", c: "3" });
    const add = [{ op: "add", path: "/data/d", value: "4" }];
    assert.deepEqual(await data(add, "json"), { b: "2", c: "3", d: "4" });
    assert.deepEqual(await data({ data: { $patch: "replace", e: "5" } }, "strategic"), { e: "5" });
  });

  it("rejects invalid patches with Kubernetes' messages", async () => {
    await api.post(maps, { metadata: { name: "a" }, data: { a: "1" } });
    const cases: readonly (readonly [PatchOptions["patchType"], unknown, RegExp])[] = [
      ["json", "{this", /^400 \w+ error decoding patch: invalid character 't' looking for beginn/],
      ["json", {}, /^400 .*json: cannot unmarshal object into Go value of type \[\]handlers.json/],
      ["json", ["x"], /^400 .*cannot unmarshal string into Go value of type handlers.jsonPatchOp$/],
      ["json", [{ op: 1 }], /^400 .*number into Go struct field jsonPatchOp.op of type string$/],
      ["json", [{ op: "test", path: "/data/a", value: "2" }], /^422 Invalid the server rejected /],
      ["json", Array(10_001).fill({}), /^413 .*in a JSON patch is 10000, got 10001$/],
      ["merge", "[]", /^400 .*json: cannot unmarshal array into Go value of type map\[string\]in/],
      ["merge", "null", /^400 BadRequest Invalid JSON Patch$/],
      ["merge", { metadata: { name: "b" } }, /^400 \w+ the name of the object \(b\) does not mat/],
      ["merge", { kind: "Secret" }, /^422 Invalid {2}"" is invalid: patch: Invalid value/],
      ["merge", { data: { a: 5 } }, /^422 Invalid {2}"" is invalid: patch: Invalid value/],
      ["merge", { metadata: { resourceVersion: "1" } }, /^409 Conflict/],
      ["merge", { metadata: { uid: "x" } }, /^422 .*metadata.uid: Invalid value: "x": field is i/],
      ["strategic", "", /^400 BadRequest unexpected end of JSON input$/],
      ["apply", {}, /^400 BadRequest invalid object type: \/, Kind=$/],
    ];
    for (const [patchType, patch, wanted] of cases) {
      assert.match(await refusal(api.patch(`${maps}/a`, patch, { patchType })), wanted);
    }
    const apply = { patchType: "apply" } as const;
    assert.match(await refusal(api.patch(`${maps}/zz`, {}, apply)), /^400/);
    assert.equal(
      await refusal(api.patch(`${maps}/zz`, "{broken", { patchType: "json" })),
      '404 NotFound configmaps "zz" not found',
    );
    const strict = api.patch(`${maps}/a`, { nosuch: 1 }, { fieldValidation: "Strict" });
    assert.match(await refusal(strict), /strict decoding error: unknown field "nosuch"/);
  });

  it("increments generation only when the spec changes", async () => {
    const path = "networking.k8s.io/v1/networkpolicies/ns";
    const body = (metadata: object, spec: object) => ({ metadata, spec });
    const spec = { podSelector: {}, ingress: [{}] };
    const first = await api.post(path, body({ name: "n", generation: 40 }, spec));
    assert.equal(first.item.object.metadata.generation, 1);
    const generations: unknown[] = [];
    for (const [labels, wanted] of [
      [{ a: "b" }, spec],
      [{ a: "b" }, { podSelector: {}, ingress: [] }],
      [{ a: "c" }, { podSelector: {} }],
      [{}, { podSelector: { matchLabels: { x: "y" } } }],
    ] as const) {
      const { item } = await api.put(`${path}/n`, body({ name: "n", labels }, wanted));
      generations.push(item.object.metadata.generation);
    }
    assert.deepEqual(generations, [1, 2, 2, 3]);
  });

  it("returns null for an empty list without omitempty", async () => {
    const path = "v1/limitranges/ns";
    const { item } = await api.post(path, { metadata: { name: "l" }, spec: { limits: [] } });
    assert.equal(item.object.spec.limits, null);
    const again = { metadata: { name: "l" }, spec: { limits: [] } };
    assert.equal((await api.put(`${path}/l`, again)).item.revision, item.revision);
  });

  it("reports warnings of failed requests", async () => {
    const post = api.post(maps, { metadata: { name: "Bad_Name" }, bogus: 1 });
    const error = await post.catch((fault) => fault);
    assert.deepEqual(error.warnings, ['unknown field "bogus"']);
  });

  it("loses none of fifty concurrent patches", async () => {
    await api.post(maps, { metadata: { name: "a" }, data: { n: "0" } });
    const keys = Array.from({ length: 50 }, (_each, index) => `k${index}`);
    await Promise.all(keys.map((key) => api.patch(`${maps}/a`, { data: { [key]: "set" } })));
    const { data } = (await api.get(`${maps}/a`)).object;
    assert.deepEqual(Object.keys(data).sort(), ["n", ...keys].sort());
  });

  it("loses no increment of concurrent read-modify-write patches", async () => {
    await api.post(maps, { metadata: { name: "a" }, data: { n: "0" } });
    const increment = async (): Promise<void> => {
      for (;;) {
        const { object } = await api.get(`${maps}/a`);
        const { resourceVersion } = object.metadata;
        const data = { n: String(Number(object.data.n) + 1) };
        const patch = { metadata: { resourceVersion }, data };
        if ((await refusal(api.patch(`${maps}/a`, patch))) === "accepted") return;
      }
    };
    await Promise.all(Array.from({ length: 20 }, increment));
    assert.equal((await api.get(`${maps}/a`)).object.data.n, "20");
  });

  it("removes duplicate owner references with a warning", async () => {
    const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" };
    const metadata = { name: "a", ownerReferences: [owner, owner] };
    const { item, warnings } = await api.post(maps, { metadata });
    assert.equal(item.object.metadata.ownerReferences.length, 1);
    assert.match(warnings[0] ?? "", /duplicate UID\(s\) observed: u1$/);
  });

  it("serves an Event in both its groups", async () => {
    const about = { kind: "Pod", name: "p", namespace: "ns" };
    const old = { metadata: { name: "e" }, involvedObject: about, message: "m", type: "Normal" };
    const { item } = await api.post("v1/events/ns", old);
    const other = await api.get("events.k8s.io/v1/events/ns/e");
    assert.equal(deepEqual(other.object, item.object), true);
    const patch = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }];
    const path = "events.k8s.io/v1/events/ns/e";
    const { item: patched } = await api.patch(path, patch, { patchType: "json" });
    assert.equal(patched.object.message, "m");
    assert.deepEqual({ ...patched.object.metadata.labels }, { a: "b" });
  });

  it("stores Protobuf, and reads stored JSON with members in any order", async () => {
    const wire = await testRegistry({ storageMediaType: "protobuf" });
    const { item } = await wire.post(maps, { metadata: { name: "a" }, data: { k: "v" } });
    assert.equal(Buffer.from(item.bytes.subarray(0, 4)).toString(), "k8s\0");
    assert.deepEqual({ ...(await wire.get(`${maps}/a`)).object.data }, { k: "v" });
    const foreign =
      '{"data":{"k":"w"},"metadata":{"name":"b","namespace":"ns"},' +
      '"kind":"ConfigMap","apiVersion":"v1"}';
    await wire.store.create("/configmaps/ns/b", Buffer.from(foreign));
    const { object } = await wire.get(`${maps}/b`);
    assert.deepEqual({ ...object.data }, { k: "w" });
    const { item: rewritten } = await wire.patch(`${maps}/b`, { data: { x: "y" } });
    assert.deepEqual({ ...rewritten.object.data }, { k: "w", x: "y" });
  });

  it("preserves a key named __proto__", async () => {
    const text = '{"metadata":{"name":"a"},"data":{"__proto__":"y"}}';
    await api.post(maps, text);
    const patched = await api.patch(`${maps}/a`, '{"data":{"constructor":"z"}}');
    const stored = Buffer.from(patched.item.bytes).toString();
    assert.match(stored, /"data":\{"__proto__":"y","constructor":"z"\}/);
  });
});

describe("the weight of a patched object", () => {
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, ""]));
  const merge = (data: object) => JSON.stringify(data);

  it("is limited if the stored object is below the limit", async () => {
    const api = await testRegistry();
    await api.post(maps, { metadata: { name: "a" }, data: keys(10) });
    await api.patch(`${maps}/a`, merge({ data: keys(20_000) }));
    const more = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, ""]));
    assert.match(await refusal(api.patch(`${maps}/a`, merge({ data: more }))), /^413 /);
  });

  it("is not limited if the stored object exceeds the limit already", async () => {
    const api = await testRegistry();
    const heavy = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b", namespace: "ns" } };
    const value = JSON.stringify({ ...heavy, data: keys(30_000) });
    await api.store.create("/configmaps/ns/b", Buffer.from(value));
    const { item } = await api.patch(`${maps}/b`, merge({ metadata: { labels: { a: "b" } } }));
    assert.deepEqual(item.object.metadata.labels, { a: "b" });
    assert.equal(Object.keys(item.object.data).length, 30_000);
  });
});

/** The lists as in the documentation: a title, then the steps in lines of 100 columns. */
function printedSteps(): string {
  const lists: readonly (readonly [string, readonly WriteStep[]])[] = [
    ["create", createSteps],
    ["restore (of a recording)", restoreSteps],
    ["replace, before the object is read", updatePath.before],
    ["replace, existing object", updatePath.existing],
    ["replace, missing object", updatePath.missing],
    ["patch, existing object", patchPath.existing],
    ["patch, missing object", patchPath.missing],
    ["server-side apply, existing object", applyPath.existing],
    ["server-side apply, missing object", applyPath.missing],
    ["subresource, existing object", subresourcePath.existing],
    ["subresource, missing object", subresourcePath.missing],
  ];
  const text = lists.map(([title, steps]) => {
    const lines = ["  "];
    for (const { name } of steps) {
      if (lines.at(-1)!.length + name.length > 95) lines.push("  ");
      lines.push(`${lines.pop()}${name} > `);
    }
    return `${title}\n${lines
      .map((line) => line.trimEnd())
      .join("\n")
      .replace(/ >$/, "")}\n`;
  });
  return `\`\`\`text\n${text.join("")}\`\`\`\n`;
}

describe("the lists of the write path", () => {
  it("are printed in the documentation", () => {
    const root = new URL("../../../", import.meta.url);
    const files = ["ARCHITECTURE.md", "docs/architecture.md"]
      .map((name) => new URL(name, root))
      .filter((file) => existsSync(file));
    const block = /(<!-- write steps -->\n)[\s\S]*?(<!-- end of write steps -->)/;
    const file = files.find((each) => block.test(readFileSync(each, "utf8")));
    assert.ok(file !== undefined, "one of the documents has the block");
    const text = readFileSync(file, "utf8");
    const wanted = text.replace(block, (_all, open: string, close: string) => {
      return `${open}${printedSteps()}${close}`;
    });
    if (process.env["UPDATE"] === "1") writeFileSync(file, wanted);
    else assert.equal(text, wanted, "run UPDATE=1 npx mocha pkg/registry/write/pipeline.test.ts");
  });

  it("decode, admit, prepare, validate, admit and store in the documented order", () => {
    const order = (steps: readonly WriteStep[], phases: readonly string[]): readonly string[] =>
      steps.map(({ name }) => name).filter((name) => phases.includes(name));
    const creation = [
      "decodeBody",
      "mutatingAdmission",
      "prepareCreate",
      "validateCreate",
      "validatingAdmission",
      "compareAndCreate",
    ];
    assert.deepEqual(order(createSteps, creation), creation);
    const change = [
      "mutatingAdmission",
      "prepareUpdate",
      "validateUpdate",
      "validatingAdmission",
      "compareAndSwap",
    ];
    for (const { existing } of [updatePath, patchPath, applyPath, subresourcePath]) {
      assert.deepEqual(order(existing, change), change);
    }
  });
});
