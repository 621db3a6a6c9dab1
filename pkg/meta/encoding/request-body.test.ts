import assert from "node:assert/strict";
import {
  parseAhead,
  parseJsonRequest,
  parseYamlRequest,
  requestBounds,
  type TextFormat,
  withinBounds,
} from "./request-body.ts";
import { StatusError } from "../status/status.ts";
import { fromJson, fromProtobuf, TooManyValues, toProtobuf } from "#schema";
import { objectMeta } from "../object/object-meta.ts";

const isTooLarge = (error: unknown): boolean => {
  return error instanceof StatusError && error.status.code === 413;
};

function json(text: string): unknown {
  return parseJsonRequest(Buffer.from(text)).value;
}

/** The parser alone, to tell what is refused before anything is built. */
function yaml(text: string): unknown {
  return parseYamlRequest(Buffer.from(text)).value;
}

describe("limits of request bodies", () => {
  it("count keys and list elements of JSON at any depth", () => {
    const { values } = requestBounds;
    const list = (length: number): string => `[${Array(length).fill("{}").join(",")}]`;
    const keys = (length: number): string => {
      return `{${Array.from({ length }, (_, index) => `"k${index}":1`).join(",")}}`;
    };
    for (const of of [list, keys]) {
      assert.ok(json(of(values / 2 - 1)));
      assert.throws(() => json(of(values + 1)), isTooLarge);
    }
    // Neither are values inside of texts.
    assert.ok(json(JSON.stringify({ text: "[{,:".repeat(values) })));
    // Values that require the precise parser are counted as well.
    const numbers = `[${"1.0,".repeat(values + 1)}1]`;
    assert.throws(() => json(numbers), isTooLarge);
  });

  it("count the nodes of YAML, but not text that resembles them", () => {
    const { yamlNodes } = requestBounds;
    const dense = `{${"a: b, ".repeat(yamlNodes)}a: b}`;
    assert.throws(() => yaml(dense), isTooLarge);
    const lines = "- x\n".repeat(yamlNodes + 1);
    assert.throws(() => yaml(lines), isTooLarge);
    const text = "a: b, [c] - {d}\n";
    const many = yamlNodes / 2;
    const indented = `    ${text}`.repeat(many);
    assert.deepEqual(yaml(`data:\n  k: |\n${indented}  l: 1\n`), {
      data: { k: text.repeat(many), l: 1 },
    });
    assert.deepEqual(yaml(`- a: >-\n${indented}  b: 2\n`), [
      { a: text.trimEnd().concat(" ").repeat(many).trimEnd(), b: 2 },
    ]);
    const quoted = "a: b, [c]".repeat(yamlNodes);
    assert.deepEqual(yaml(`k: "${quoted}"\nl: '${quoted}'\n`), { k: quoted, l: quoted });
    const comment = `# ${quoted}\n`;
    assert.deepEqual(yaml(`${comment}k: 1 ${comment}`), { k: 1 });
  });

  it("weigh list elements by the fields of their type, and map entries, in JSON and Protobuf", () => {
    const owners = (length: number): object => ({
      ownerReferences: Array(length).fill({ apiVersion: "v1", kind: "Pod", name: "a", uid: "u" }),
    });
    const labels = (length: number): object => ({
      labels: Object.fromEntries(Array.from({ length }, (_, index) => [`k${index}`, ""])),
    });
    const finalizers = (length: number): object => ({ finalizers: Array(length).fill("a/b") });
    const maxWeight = 1000;
    for (const [of, weight] of [
      [owners, 7],
      [labels, 4],
      [finalizers, 3],
    ] as const) {
      const most = Math.floor(maxWeight / weight);
      const decoded = fromJson(objectMeta, of(most), { maxWeight });
      assert.deepEqual(
        fromProtobuf(objectMeta, toProtobuf(objectMeta, decoded), maxWeight),
        decoded,
      );
      assert.throws(() => fromJson(objectMeta, of(most + 1), { maxWeight }), TooManyValues);
      const bytes = toProtobuf(objectMeta, fromJson(objectMeta, of(most + 1)));
      assert.throws(() => fromProtobuf(objectMeta, bytes, maxWeight), TooManyValues);
    }
  });

  it("return other errors unchanged", () => {
    const fault = new RangeError("other");
    const decode = (): never => {
      throw fault;
    };
    assert.throws(() => withinBounds(decode), fault);
  });
});

/** The result of parsing: a value, or the message of an error. */
function outcomeOf(format: TextFormat, bytes: Uint8Array): unknown {
  try {
    return format === "json" ? parseJsonRequest(bytes) : parseYamlRequest(bytes);
  } catch (fault) {
    return String(fault);
  }
}

describe("parseAhead", () => {
  const long = "x".repeat(20_000);
  const entries = (count: number): string =>
    Array.from({ length: count }, (_, index) => `"k${index}": [${index}, 1.0, {"a": -0}]`).join();
  const texts: Readonly<Record<string, string>> = {
    "few values": `{"a": "${long}", "b": 1.50}`,
    "many values": `{"data": {${entries(6_000)}}, "big": 12345678901234567890}`,
    "keys given twice": `{${entries(5_000)}, "k1": 1, "k2": {"x": 1}, "k2": {"y": 2}}`,
    "a fault at the end": `{${entries(5_000)}, "a": tru}`,
    "too many values": `[${"1,".repeat(requestBounds.values + 1)}1]`,
  };

  for (const [what, text] of Object.entries(texts)) {
    for (const format of ["json", "yaml"] as const) {
      it(`changes only the time of parsing: ${format} with ${what}`, async () => {
        const ahead = Buffer.from(text);
        await parseAhead(ahead, [format]);
        assert.deepEqual(outcomeOf(format, ahead), outcomeOf(format, Buffer.from(text)));
      });
    }
  }

  it("returns a value once, since its reader may change it", async () => {
    const bytes = Buffer.from(texts["many values"] ?? "");
    await parseAhead(bytes, ["json"]);
    const { value } = parseJsonRequest(bytes);
    (value as { data: unknown }).data = "changed";
    assert.deepEqual(parseJsonRequest(bytes), parseJsonRequest(Buffer.from(bytes)));
  });

  it("parses a short text synchronously", () => {
    assert.equal(parseAhead(Buffer.from("{}"), ["json"]), undefined);
  });
});
