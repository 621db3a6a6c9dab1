import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import { CodecError, convert, type Conversion } from "./codec.ts";

const lease = {
  kind: "Lease",
  apiVersion: "coordination.k8s.io/v1",
  metadata: { name: "a", namespace: "b", resourceVersion: "7" },
  spec: { holderIdentity: "me", leaseDurationSeconds: 15 },
};

function run(input: string | Uint8Array, conversion: Partial<Conversion>): Uint8Array {
  const common = { to: "json", storageMediaType: "json", domain: kubernetes } as const;
  return convert(Buffer.from(input), { ...common, ...conversion });
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

describe("codec", () => {
  const json = JSON.stringify(lease);

  it("converts between all formats, and detects the format of the input", () => {
    const yaml = run(json, { to: "yaml" });
    assert.match(text(yaml), /^apiVersion: coordination\.k8s\.io\/v1\nkind: Lease\n/);
    const protobuf = run(yaml, { to: "protobuf" });
    assert.equal(text(protobuf.subarray(0, 4)), "k8s\0");
    assert.deepEqual(JSON.parse(text(run(protobuf, { to: "json" }))), lease);
  });

  it("writes the stored form in the stored version, without resourceVersion", () => {
    const event = {
      kind: "Event",
      apiVersion: "events.k8s.io/v1",
      metadata: { name: "e", namespace: "b", resourceVersion: "9" },
      eventTime: "2026-01-02T03:04:05.000006Z",
      note: "hello",
    };
    const stored = JSON.parse(text(run(JSON.stringify(event), { to: "stored" })));
    assert.equal(stored.apiVersion, "v1");
    assert.equal(stored.message, "hello");
    assert.equal(stored.metadata.resourceVersion, undefined);
    const bytes = run(json, { to: "stored", storageMediaType: "protobuf" });
    assert.equal(JSON.parse(text(run(bytes, { from: "stored" }))).metadata.name, "a");
  });

  const mistakes: readonly (readonly [string, string, RegExp])[] = [
    ["no kind", "{}", /^the input has no apiVersion and kind$/],
    ["nothing", "\n", /^the input is empty$/],
    ["an unknown kind", '{"apiVersion":"v1","kind":"Gadget"}', /^no kind "Gadget" is known in/],
    ["broken JSON", '{"apiVersion":', /^the input cannot be read: unexpected end of JSON input$/],
    ["broken Protobuf", "k8s\0\x0a\x7f", /^the input cannot be read|^no kind/],
  ];
  for (const [what, input, sentence] of mistakes) {
    it(`rejects ${what}`, () => {
      assert.throws(
        () => run(input, {}),
        (error) => error instanceof CodecError && sentence.test(error.message),
      );
    });
  }
});
