import assert from "node:assert/strict";
import { parseJsonRequest, parseYamlRequest, requestBounds, withinBounds } from "./request-body.ts";
import { StatusError } from "../status/status.ts";
import { fromJson, fromProtobuf, TooManyValues, toProtobuf } from "#schema";
import { objectMeta } from "../object/object-meta.ts";

const isTooLarge = (error: unknown): boolean => {
  return error instanceof StatusError && error.status.code === 413;
};

/** The parser alone, to tell what is refused before anything is built. */
function yaml(text: string): unknown {
  return parseYamlRequest(Buffer.from(text)).value;
}

describe("bounds of request bodies", () => {
  it("count keys and list elements of JSON, in whatever they stand", () => {
    const { values } = requestBounds;
    const list = (length: number): string => `[${Array(length).fill("{}").join(",")}]`;
    const keys = (length: number): string => {
      return `{${Array.from({ length }, (_, index) => `"k${index}":1`).join(",")}}`;
    };
    for (const of of [list, keys]) {
      assert.ok(parseJsonRequest(of(values / 2 - 1)).value);
      assert.throws(() => parseJsonRequest(of(values + 1)), isTooLarge);
    }
    // Neither are values inside of texts.
    assert.ok(parseJsonRequest(JSON.stringify({ text: "[{,:".repeat(values) })).value);
    // What takes the precise parser is counted as well.
    const numbers = `[${"1.0,".repeat(values + 1)}1]`;
    assert.throws(() => parseJsonRequest(numbers), isTooLarge);
  });

  it("count the nodes of YAML, but not what is text", () => {
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

  it("leave other faults as they are", () => {
    const fault = new RangeError("other");
    const decode = (): never => {
      throw fault;
    };
    assert.throws(() => withinBounds(decode), fault);
  });
});
