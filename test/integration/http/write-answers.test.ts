/**
 * The answer of a write is what a GET would read, and what a watch delivers; the same write again changes
 * nothing and warns of nothing. Custom kinds, versions and verbs are random, with a seed.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { builtinKinds } from "#api";
import { jsonFields, resolved, type Type } from "#schema";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { manifestsOfEveryKind } from "../../fuzz/wrong-values.ts";

const types: Readonly<Record<string, string>> = {
  MERGE: "application/merge-patch+json",
  JSON: "application/json-patch+json",
  STRATEGIC: "application/strategic-merge-patch+json",
  APPLY: "application/apply-patch+yaml",
};

interface Answer {
  readonly code: number;
  readonly warning: string | null;
  readonly body: any;
}

class Client {
  constructor(private readonly server: RunningServer) {}

  async send(verb: string, path: string, body?: unknown): Promise<Answer> {
    const isPatch = verb in types;
    const headers = { "content-type": types[verb] ?? "application/json" };
    const response = await this.server.fetch(path, {
      method: isPatch ? "PATCH" : verb,
      ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
    });
    const warning = response.headers.get("warning");
    return { code: response.status, warning, body: await response.json() };
  }

  /** The objects of the first `count` events after a revision. */
  async watched(path: string, revision: string, count: number): Promise<any[]> {
    const query = `watch=1&timeoutSeconds=30&resourceVersion=${revision}`;
    const response = await this.server.fetch(`${path}?${query}`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const lines = text.split("\n").slice(0, -1);
      if (lines.length >= count) {
        await reader.cancel();
        return lines.slice(0, count).map((line) => JSON.parse(line).object);
      }
      const { value, done } = await reader.read();
      assert.ok(!done, `the watch of ${path} ended after ${lines.length} of ${count} events`);
      text += value;
    }
  }

  async revision(path: string): Promise<string> {
    return (await this.send("GET", path)).body.metadata.resourceVersion;
  }
}

/** Adds an empty list or map for each field that an object lacks. */
function addEmpties(type: Type, value: any): void {
  const target = resolved(type);
  if (target.tag === "list") for (const each of value) addEmpties(target.element, each);
  if (target.tag === "map") for (const each of Object.values(value)) addEmpties(target.value, each);
  // The metadata of a template may not even have an empty list of finalizers.
  if (target.tag !== "struct" || target.name === "ObjectMeta") return;
  for (const { name, type: inner } of jsonFields(target)) {
    const { tag } = resolved(inner);
    if (value[name] !== undefined && value[name] !== null) addEmpties(inner, value[name]);
    else if (tag === "list") value[name] = [];
    else if (tag === "map") value[name] = {};
  }
}

/** Kinds whose generation counts an empty list as a change (reflect.DeepEqual in Kubernetes). */
const exact = ["NetworkPolicy", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

/** Kinds whose status the server itself writes. */
const withServerStatus = ["CustomResourceDefinition", "APIService", "FlowSchema"];

describe("the answer of a write to a built-in kind", () => {
  let server: RunningServer;
  let client: Client;
  before(async () => {
    server = await startServer({
      controllers: false,
      admissionPlugins: { disable: ["ServiceAccount"] },
    });
    client = new Client(server);
  });
  after(() => server.close());

  async function resourceOf({ apiVersion, kind }: any): Promise<any> {
    const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { resources } = (await client.send("GET", path)).body;
    const found = resources.find((each: any) => each.kind === kind && !each.name.includes("/"));
    return { ...found, path };
  }

  for (const manifest of manifestsOfEveryKind()) {
    const { apiVersion, kind, metadata } = manifest;
    if (withServerStatus.includes(kind)) continue;
    it(`equals what is read: ${apiVersion} ${kind}`, async () => {
      const { path, name, namespaced, verbs } = await resourceOf(manifest);
      if (!verbs.includes("update")) return;
      const space = namespaced ? `/namespaces/${metadata.namespace}` : "";
      const collection = `${path}${space}/${name}`;
      const own = `${collection}/${metadata.name}`;
      const start = await client.revision(collection);
      const made = await client.send("POST", `${collection}?fieldManager=m`, manifest);
      assert.equal(made.code, 201, made.body.message);
      const answers = [made.body];
      assert.deepEqual((await client.send("GET", own)).body, made.body);
      const repeat = async (verb: string, body: unknown, query = ""): Promise<void> => {
        const again = await client.send(verb, own + query, body);
        assert.deepEqual(again.body, answers.at(-1), `${verb} of the same`);
      };
      await repeat("PUT", made.body);
      await repeat("MERGE", {});
      await repeat("JSON", []);
      await repeat("STRATEGIC", {});
      const applied = await client.send("APPLY", `${own}?fieldManager=a&force=true`, manifest);
      assert.equal(applied.code, 200, applied.body.message);
      if (applied.body.metadata.resourceVersion !== made.body.metadata.resourceVersion) {
        answers.push(applied.body);
      }
      await repeat("APPLY", manifest, "?fieldManager=a&force=true");
      assert.deepEqual((await client.send("GET", own)).body, applied.body);
      assert.deepEqual(await client.watched(collection, start, answers.length), answers);
      if (exact.includes(kind)) return;
      const struct = builtinKinds
        .filter((each) => each.kind === kind)
        .flatMap(({ versions }) => versions)
        .find(({ version }) => version === apiVersion.split("/").at(-1))!.struct;
      const withEmpties = structuredClone(applied.body);
      addEmpties(struct, withEmpties);
      const { managedFields: _managed, ...plain } = withEmpties.metadata;
      await repeat("PUT", { ...withEmpties, metadata: { labels: {}, annotations: {}, ...plain } });
    });
  }
});

const group = "answers.example.com";

/** A random structural schema. */
function schemaOf(random: Random, depth: number): any {
  const nullable = random.below(5) === 0 ? { nullable: true } : {};
  const withDefault = (value: unknown) => (random.below(3) === 0 ? { default: value } : {});
  switch (random.below(depth > 0 ? 7 : 3)) {
    case 0:
      return { type: "string", ...nullable, ...withDefault("d") };
    case 1:
      return { type: "integer", ...nullable, ...withDefault(7) };
    case 2:
      return { type: "object", ...nullable };
    case 3:
      return { type: "array", items: schemaOf(random, depth - 1), ...nullable };
    case 4:
      return { type: "object", additionalProperties: schemaOf(random, depth - 1) };
    case 5:
      return { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    default:
      return {
        type: "object",
        ...withDefault({}),
        properties: Object.fromEntries(
          ["a", "b", "c"].map((name) => [name, schemaOf(random, depth - 1)]),
        ),
      };
  }
}

/** A random value of the schema, with fields that it does not know and nulls. */
function valueOf(random: Random, schema: any): unknown {
  if (random.below(8) === 0) return null;
  switch (schema.type) {
    case "string":
      return "x";
    case "integer":
      return random.below(9);
    case "array":
      return Array.from({ length: random.below(3) }, () => valueOf(random, schema.items) ?? 1);
    default: {
      const names = ["a", "b", "c", "unknown"].filter(() => random.below(2) === 0);
      const of = (name: string) =>
        schema.properties?.[name] ?? schema.additionalProperties ?? { type: "string" };
      return Object.fromEntries(names.map((name) => [name, valueOf(random, of(name))]));
    }
  }
}

describe("the answer of a write to a custom kind", () => {
  let server: RunningServer;
  let client: Client;
  before(async () => {
    server = await startServer({ controllers: false });
    client = new Client(server);
  });
  after(() => server.close());

  async function define(plural: string, schema: object, storage: string): Promise<void> {
    const versions = ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === storage,
      subresources: { status: {} },
      schema: { openAPIV3Schema: schema },
    }));
    const names = { plural, kind: plural };
    const spec = { group, scope: "Cluster", names, versions };
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const body = { metadata: { name: `${plural}.${group}` }, spec };
    const made = await client.send("POST", definitions, body);
    assert.equal(made.code, 201, made.body.message);
    const deadline = Date.now() + 30_000;
    for (const version of ["v1", "v2"]) {
      while ((await server.fetch(`/apis/${group}/${version}/${plural}`)).status !== 200) {
        assert.ok(Date.now() < deadline, "the definition is not served");
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  /** One random write; the body of a PATCH may name what the schema does not. */
  function writeOf(random: Random, plural: string, schema: any, count: number) {
    const version = random.below(2) === 0 ? "v1" : "v2";
    const verb = ["PUT", "MERGE", "APPLY", "POST"][random.below(4)] as string;
    const endpoint = verb === "POST" || random.below(4) > 0 ? "" : "/status";
    const name = verb === "POST" ? `o${count}` : "o";
    const typeMeta = { apiVersion: `${group}/${version}`, kind: plural };
    const body = {
      ...typeMeta,
      metadata: { name },
      ...Object.fromEntries(
        ["spec", "status"].map((field) => [field, valueOf(random, schema.properties[field]) ?? {}]),
      ),
    };
    const own = `/apis/${group}/${version}/${plural}/${name}`;
    const query = `?fieldManager=m${random.below(2)}${verb === "APPLY" ? "&force=true" : ""}`;
    const path = verb === "POST" ? own.slice(0, own.lastIndexOf("/")) : own + endpoint;
    return { verb, own, path: path + query, body };
  }

  for (let seed = 1; seed <= 15; seed++) {
    it(`equals what is read, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      const plural = `kind${seed}s`;
      const properties = {
        spec: { ...schemaOf(random, 0), type: "object", properties: {}, default: undefined },
        status: schemaOf(random, 0),
      };
      for (const field of ["spec", "status"] as const) {
        const fields = ["a", "b", "c"].map((name) => [name, schemaOf(random, 2)] as const);
        properties[field] = { type: "object", properties: Object.fromEntries(fields) };
      }
      Object.assign(properties.status, random.below(2) === 0 ? { default: {} } : {});
      const schema = { type: "object", properties };
      await define(plural, schema, random.below(2) === 0 ? "v1" : "v2");
      const answers: any[] = [];
      const collection = `/apis/${group}/v1/${plural}`;
      const start = await client.revision(collection);
      const first = writeOf(random, plural, schema, 0);
      await client.send("POST", collection, {
        ...first.body,
        apiVersion: `${group}/v1`,
        metadata: { name: "o" },
      });
      for (let count = 1; count <= 12; count++) {
        const { verb, own, path, body } = writeOf(random, plural, schema, count);
        const answer = await client.send(verb, path, body);
        if (answer.code >= 400) continue;
        const read = await client.send("GET", own);
        assert.deepEqual(answer.body, read.body, `${verb} ${path} ${JSON.stringify(body)}`);
        const same = own.replace(/\/v[12]\//, "/v1/");
        answers.push((await client.send("GET", same)).body);
        const again = await client.send("PUT", own, read.body);
        assert.equal(again.code, 200, again.body.message);
        assert.equal(again.warning, null);
        const { resourceVersion: _before, ...metadata } = read.body.metadata;
        const { resourceVersion: _after, ...repeated } = again.body.metadata;
        assert.deepEqual({ ...again.body, metadata: repeated }, { ...read.body, metadata });
      }
      const revisions = new Set(answers.map(({ metadata }) => metadata.resourceVersion));
      const list = (await client.send("GET", collection)).body;
      const events: any[] = [];
      for await (const event of eventsUntil(collection, start, list.metadata.resourceVersion)) {
        events.push(event);
      }
      const byRevision = new Map(events.map((each) => [each.metadata.resourceVersion, each]));
      for (const answer of answers) {
        const { resourceVersion } = answer.metadata;
        assert.ok(revisions.has(resourceVersion));
        assert.deepEqual(byRevision.get(resourceVersion), answer);
      }
    });
  }

  /** The objects of all events up to a revision of the collection. */
  async function* eventsUntil(path: string, from: string, last: string): AsyncIterable<any> {
    const query = `watch=1&timeoutSeconds=30&resourceVersion=${from}`;
    const response = await server.fetch(`${path}?${query}`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    let newest = 0;
    while (newest < Number(last)) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const { object } = JSON.parse(line);
        newest = Number(object.metadata.resourceVersion);
        yield object;
      }
    }
    await reader.cancel();
  }
});
