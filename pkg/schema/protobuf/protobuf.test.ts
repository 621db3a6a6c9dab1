import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { arbitrary } from "../arbitrary.ts";
import { value, structs } from "../struct/declare.ts";
import { DecodeFault } from "../fault/faults.ts";
import { fromJson } from "../json/from-json.ts";
import { unwrapEnvelope, wrapEnvelope } from "./envelope.ts";
import { fromProtobuf } from "./from-protobuf.ts";
import { toProtobuf } from "./to-protobuf.ts";
import { anything, meta, node, port, spec, thing } from "../testing.ts";
import type { StructType } from "../struct/types.ts";

function hex(struct: StructType<any>, value: unknown): string {
  return Buffer.from(toProtobuf(struct, fromJson(struct, value) as never)).toString("hex");
}

/** Hexadecimal, field by field. */
function wire(...fields: readonly string[]): string {
  return fields.join("");
}

function bytes(...parts: readonly string[]): Uint8Array {
  return Buffer.concat(parts.map((part) => Buffer.from(part, "hex")));
}

describe("Protobuf", () => {
  it("encodes scalars, even zero ones, in the order of their numbers", () => {
    assert.equal(hex(port, {}), wire("0a00", "1000", "1a00"));
    assert.equal(
      hex(port, { protocol: "UDP", number: -1, name: "a" }),
      wire("0a0161", "10ffffffffffffffffff01", "1a03554450"),
    );
  });

  it("omits nil pointers, empty lists and maps, and always encodes messages that are not pointers", () => {
    assert.equal(hex(meta, {}), wire("0a00", "4200"));
    assert.equal(
      hex(spec, {}),
      wire("1000", "190000000000000000", "2000", "2a00", "6a00", "7202", "1000", "8a0100"),
    );
    assert.match(hex(spec, { count: 0, owner: "" }), /^08001000.*6200/);
  });

  it("sorts map entries by the bytes of their keys", () => {
    const labels = { b: "2", a: "1", "\u{1f680}": "", "\uffee": "" };
    assert.equal(
      hex(meta, { labels }),
      wire("0a00", "4200", "5a060a0161120131", "5a060a0162120132") +
        wire("5a070a03efbfae1200", "5a080a04f09f9a801200"),
    );
  });

  it("keeps all digits of 64-bit integers", () => {
    for (const big of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 2 ** 53 - 1, -1, 0]) {
      const back = fromProtobuf(spec, toProtobuf(spec, fromJson(spec, { big }) as never));
      assert.equal(back.big, big === 0 ? undefined : big);
    }
    assert.match(hex(spec, { big: 2n ** 63n - 1n }), /^10ffffffffffffffff7f/);
  });

  it("round-trips random objects", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const object = arbitrary(thing, seededRandom(seed));
      assert.deepEqual(fromProtobuf(thing, toProtobuf(thing, object)), object, `seed ${seed}`);
    }
  });

  it("skips unknown fields of every wire type", () => {
    const scalars = ["f80105", "f10100000000000000ff", "fa0103616263", "fd0100000000"];
    const unknown = [...scalars, "f30108010b0cf401"];
    const known = hex(port, { name: "n", number: 7, protocol: "TCP" });
    for (const field of unknown) {
      assert.deepEqual(fromProtobuf(port, bytes(field, known, field)), {
        name: "n",
        number: 7,
        protocol: "TCP",
      });
    }
  });

  it("decodes packed lists, repeated single fields and merged messages", () => {
    assert.deepEqual(fromProtobuf(spec, bytes("5a03010203", "5804")).numbers, [1, 2, 3, 4]);
    assert.equal(fromProtobuf(port, bytes("10011002")).number, 2);
    // A zero value replaces an earlier one.
    assert.deepEqual(fromProtobuf(meta, bytes("0a0161", "0a00", "42020805", "4200")), {});
    assert.deepEqual(fromProtobuf(thing, bytes("0a030a0161", "0a0372016d")).metadata, {
      name: "a",
      tags: ["m"],
    });
  });

  it("decodes map entries without key or value", () => {
    assert.deepEqual(fromProtobuf(meta, bytes("5a00")).labels, { "": "" });
    assert.deepEqual(fromProtobuf(meta, bytes("5a0b0a095f5f70726f746f5f5f")).labels, {
      ["__proto__"]: "",
    });
  });

  const faults: readonly (readonly [string, string, string])[] = [
    ["cut off in a tag", "80", "unexpected EOF"],
    ["cut off in a string", "0a05616263", "unexpected EOF"],
    ["a length of 2^32 + 1", "0a818080801061", "unexpected EOF"],
    [
      "a negative length",
      "0affffffffffffffffff01",
      "proto: negative length found during unmarshaling",
    ],
    ["a varint without end", "10ffffffffffffffffffff01", "proto: integer overflow"],
    ["a wrong wire type", "0801", "proto: wrong wireType = 0 for field number 1"],
    ["an illegal wire type", "7f", "proto: illegal wireType 7"],
    ["a tag of zero", "0001", "proto: Port: illegal tag 0 (wire type 0)"],
    ["an end group alone", "0c", "proto: Port: wiretype end group for non-group"],
    ["a group without end", "7b0801", "unexpected EOF"],
  ];
  for (const [what, input, message] of faults) {
    it(`rejects ${what}`, () =>
      assert.throws(() => fromProtobuf(port, bytes(input)), { name: "DecodeFault", message }));
  }

  it("rejects a message nested too deeply, and decodes one at the limit", () => {
    const deep = (levels: number) => {
      let message = Buffer.from("0801", "hex");
      for (let level = 0; level < levels; level++) {
        const length: number[] = [];
        let rest = message.length;
        for (; rest > 127; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
        message = Buffer.concat([Buffer.from([0x12, ...length, rest]), message]);
      }
      return message;
    };
    assert.ok(fromProtobuf(node, deep(400)));
    assert.throws(() => fromProtobuf(node, deep(5000)), DecodeFault);
  });

  it("rejects a scalar with invalid bytes", () => {
    const any = structs("api/sample/v1")("Any", "", { any: value(1, anything, "") });
    const holding = (text: string) => {
      const inner = Buffer.concat([Buffer.from([0x0a, text.length]), Buffer.from(text)]);
      return Buffer.concat([Buffer.from([0x0a, inner.length]), inner]);
    };
    assert.deepEqual(fromProtobuf(any, holding('{"a":[1]}')), { any: { a: [1] } });
    assert.throws(() => fromProtobuf(any, holding("{")), DecodeFault);
  });

  it("fails only with a DecodeFault for any bytes", () => {
    const random = seededRandom("protobuf garbage");
    const whole = toProtobuf(thing, arbitrary(thing, random));
    for (let run = 0; run < 3000; run++) {
      try {
        fromProtobuf(thing, damaged(whole, random));
      } catch (fault) {
        assert.ok(fault instanceof DecodeFault, `run ${run}: ${String(fault)}`);
      }
    }
  });
});

/** Some bytes changed, some cut off. */
function damaged(whole: Uint8Array, random: Random): Uint8Array {
  const copy = Uint8Array.from(whole);
  for (let count = random.below(4); count >= 0; count--) {
    copy[random.below(copy.length)] = random.below(256);
  }
  return copy.subarray(0, random.below(copy.length));
}

describe("envelope", () => {
  const type = { apiVersion: "v1", kind: "Port" };

  it("wraps and unwraps", () => {
    const raw = bytes("0a0161");
    const wrapped = wrapEnvelope(type, raw);
    assert.equal(
      Buffer.from(wrapped).toString("hex"),
      wire("6b387300", "0a0a0a02763112", "04506f7274", "12030a0161", "1a002200"),
    );
    const { raw: inside, ...rest } = unwrapEnvelope(wrapped) ?? assert.fail("no envelope");
    assert.deepEqual(rest, { ...type, contentType: "" });
    assert.deepEqual(Buffer.from(inside), raw);
  });

  it("detects other formats, and rejects damaged ones", () => {
    assert.equal(unwrapEnvelope(Buffer.from('{"kind":"x"}')), undefined);
    assert.equal(unwrapEnvelope(bytes("6b3873")), undefined);
    assert.throws(() => unwrapEnvelope(bytes("6b387300", "120d0a")), { message: "unexpected EOF" });
    assert.throws(() => unwrapEnvelope(bytes("6b387300", "0c")), {
      message: "proto: Unknown: wiretype end group for non-group",
    });
  });
});
