import assert from "node:assert/strict";
import { mergeSpecs } from "./merge-specs.ts";
import { readSpec } from "./remote-spec.ts";

const kindsOf = (group: string) => [{ group, kind: "Widget", version: "v1" }];

/** A document of `widgets` in the group, whose definition has the description. */
function spec(group: string, description: string, more: object = {}): object {
  return {
    swagger: "2.0",
    paths: {
      [`/apis/${group}/v1/widgets`]: operation("Widget"),
      "/apis/apps/v1/deployments": operation("Hijacked"),
    },
    definitions: {
      Widget: {
        description,
        properties: { part: { $ref: "#/definitions/Part" } },
        "x-kubernetes-group-version-kind": [...kindsOf(group), ...kindsOf("apps")],
      },
      Part: { description: `${description} part` },
      Hijacked: { description: "of another group" },
      ...more,
    },
  };
}

function operation(definition: string): object {
  return { get: { responses: { 200: { schema: { $ref: `#/definitions/${definition}` } } } } };
}

const read = (document: object, group: string) =>
  readSpec(Buffer.from(JSON.stringify(document)), { group, version: "v1" });

function localSpec(definitions: Readonly<Record<string, object>>, paths: readonly string[] = []) {
  return {
    hasPath: (path: string) => paths.includes(path),
    definition: (name: string) => {
      const found = definitions[name];
      return found && JSON.stringify(found);
    },
  };
}

const parsed = (all: ReadonlyMap<string, string>) =>
  Object.fromEntries([...all].map(([name, text]) => [name, JSON.parse(text) as unknown]));

describe("readSpec", () => {
  it("extracts the paths of the group version and the definitions that they refer to", async () => {
    const { paths, definitions } = await read(spec("a.com", "a"), "a.com");
    assert.deepEqual([...paths.keys()], ["/apis/a.com/v1/widgets"]);
    assert.deepEqual([...definitions.keys()].sort(), ["Part", "Widget"]);
  });

  it("removes kinds of other groups", async () => {
    const { definitions } = await read(spec("a.com", "a"), "a.com");
    const widget = JSON.parse(definitions.get("Widget")!) as Record<string, unknown>;
    assert.deepEqual(widget["x-kubernetes-group-version-kind"], kindsOf("a.com"));
    const lying = await read(spec("a.com", "a"), "b.com");
    assert.deepEqual([...lying.paths, ...lying.definitions], []);
  });

  it("inlines shared parameters", async () => {
    const name = { name: "name", in: "path", type: "string" };
    const reference = [{ $ref: "#/parameters/name" }];
    const document = {
      swagger: "2.0",
      paths: { "/apis/a.com/v1/w": { parameters: reference, get: { parameters: reference } } },
      parameters: { name },
    };
    const { paths } = await read(document, "a.com");
    assert.deepEqual(parsed(paths), {
      "/apis/a.com/v1/w": { parameters: [name], get: { parameters: [name] } },
    });
  });

  it("follows circular references once", async () => {
    const again = { properties: { self: { $ref: "#/definitions/Widget" } } };
    const { definitions } = await read(spec("a.com", "a", { Part: again }), "a.com");
    assert.equal(definitions.size, 2);
  });

  it("rejects documents that are not Swagger 2.0 or exceed a limit", async () => {
    await assert.rejects(read({ openapi: "3.0.0" }, "a.com"), /no Swagger 2.0 document/);
    await assert.rejects(read({ swagger: "2.0", paths: [] }, "a.com"), /unexpected character/);
    const parameters = Array.from({ length: 200 }, () => ({ $ref: "#/parameters/large" }));
    const document = {
      swagger: "2.0",
      paths: { "/apis/a.com/v1/w": { parameters } },
      parameters: { large: { description: "x".repeat(100_000) } },
    };
    await assert.rejects(read(document, "a.com"), /bytes of schemas/);
  });
});

describe("mergeSpecs", () => {
  it("renames a definition that conflicts with a different one, and references to it", async () => {
    const specs = [
      await read(spec("a.com", "a"), "a.com"),
      await read(spec("b.com", "b"), "b.com"),
    ];
    const local = localSpec({ Part: { description: "of this server" } });
    const { paths, definitions } = await mergeSpecs(local, specs);
    const found = parsed(definitions) as Record<string, any>;
    assert.deepEqual(Object.keys(found).sort(), ["Part_v2", "Part_v3", "Widget", "Widget_v2"]);
    assert.equal(found["Part_v2"].description, "a part");
    assert.equal(found["Widget_v2"].properties.part.$ref, "#/definitions/Part_v3");
    const path = JSON.parse(paths.get("/apis/b.com/v1/widgets")!) as any;
    assert.equal(path.get.responses[200].schema.$ref, "#/definitions/Widget_v2");
  });

  it("merges equal definitions, with the kinds of both", async () => {
    const specs = [
      await read(spec("a.com", "x"), "a.com"),
      await read(spec("b.com", "x"), "b.com"),
    ];
    const { definitions } = await mergeSpecs(localSpec({}), specs);
    const found = parsed(definitions) as Record<string, any>;
    assert.deepEqual(Object.keys(found).sort(), ["Part", "Widget"]);
    const kinds = [...kindsOf("a.com"), ...kindsOf("b.com")];
    assert.deepEqual(found["Widget"]["x-kubernetes-group-version-kind"], kinds);
  });

  it("keeps a path of the first document that has it", async () => {
    const local = localSpec({}, ["/apis/a.com/v1/widgets"]);
    const { paths, definitions } = await mergeSpecs(local, [
      await read(spec("a.com", "a"), "a.com"),
    ]);
    assert.deepEqual([...paths, ...definitions], []);
  });

  it("skips names that the renamed definition's own document uses", async () => {
    const more = { Part_v2: { description: "taken" } };
    const document = spec("a.com", "a", more) as any;
    document.definitions.Widget.properties.other = { $ref: "#/definitions/Part_v2" };
    const local = localSpec({ Part: { description: "of this server" } });
    const { definitions } = await mergeSpecs(local, [await read(document, "a.com")]);
    const found = parsed(definitions) as Record<string, any>;
    assert.equal(found["Part_v2"].description, "taken");
    assert.equal(found["Part_v3"].description, "a part");
  });
});
