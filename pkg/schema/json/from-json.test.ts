import assert from "node:assert/strict";
import { DecodeFault } from "../fault/faults.ts";
import { fromJson } from "./from-json.ts";
import { parseJson } from "./json-parse.ts";
import { value, structs } from "../struct/declare.ts";
import { anything, node, thing } from "../testing.ts";

function read(text: string): unknown {
  const { value, literals } = parseJson(text);
  return fromJson(thing, value, { root: true, ...(literals === true ? { literals } : {}) });
}

/** What is always there, with `spec` members in front. */
function normal(spec: object = {}, metadata: object = {}): object {
  return { metadata, spec: { ...spec, names: null, owner: null, seen: null } };
}

function fault(text: string): string {
  try {
    read(text);
  } catch (error) {
    assert.ok(error instanceof DecodeFault, String(error));
    return error.message;
  }
  return assert.fail("accepted");
}

describe("fromJson", () => {
  it("fills in fields that are always present", () => {
    assert.deepEqual(read("{}"), normal());
    assert.deepEqual(read('{"metadata":null,"spec":{}}'), normal());
  });

  it("drops fields that Go's encoder would omit", () => {
    assert.deepEqual(
      read('{"metadata":{"name":""},"spec":{"big":0,"on":false,"raw":"","type":""}}'),
      normal(),
    );
  });

  it("keeps empty lists and maps, which Go distinguishes from absent ones", () => {
    assert.deepEqual(
      read('{"metadata":{"labels":{},"tags":[]}}'),
      normal({}, { labels: {}, tags: [] }),
    );
  });

  it("keeps the zero value of a pointer, and an empty list that is always written", () => {
    const spec = (read('{"spec":{"count":0,"names":[],"owner":"","path":""}}') as any).spec;
    assert.deepEqual(spec, { count: 0, names: [], owner: "", path: "", seen: null });
  });

  it("decodes null as absent, and as zero in lists and maps", () => {
    assert.deepEqual(
      read(
        '{"metadata":{"name":null,"labels":{"a":null},"tags":[null]},' +
          '"spec":{"ports":[null],"amounts":{"x":null}}}',
      ),
      normal({ ports: [{ number: 0 }], amounts: { x: "0" } }, { labels: { a: "" }, tags: [""] }),
    );
  });

  it("reports unknown fields by path, once, in document order, and drops them", () => {
    const unknown: string[] = [];
    const { value } = parseJson(
      '{"kind":"Thing","apiVersion":"v1","metadata":{"bogus":1,"Name":"n"},"dat":{},' +
        '"spec":{"kind":"x","ports":[{"number":1},{"number":2,"prt":3}],' +
        '"tree":{"below":[{"belw":1}]}}}',
    );
    const object = fromJson(thing, value, { root: true, unknown });
    assert.deepEqual(unknown, [
      "metadata.bogus",
      "metadata.Name",
      "dat",
      "spec.kind",
      "spec.ports[1].prt",
      "spec.tree.below[0].belw",
    ]);
    assert.equal("dat" in object, false);
  });

  it("keeps map keys of any name", () => {
    const text = '{"metadata":{"labels":{"__proto__":"p","constructor":"c","2":"b","1":"a"}}}';
    const labels = (read(text) as any).metadata.labels as object;
    assert.deepEqual(Object.keys(labels).sort(), ["1", "2", "__proto__", "constructor"]);
    assert.deepEqual(Object.getPrototypeOf(labels), Object.prototype);
  });

  it("inlines fields of inline structs into the parent, also in its TypeScript type", () => {
    const object = fromJson(thing, { spec: { path: "p", empty: true } });
    const path: string | undefined = object.spec.path;
    // @ts-expect-error: the inline field itself is not there
    const nested: unknown = object.spec.source;
    assert.deepEqual([path, nested, object.spec.empty], ["p", undefined, true]);
  });

  it("decodes 64-bit integers exactly", () => {
    const big = (text: string) => (read(`{"spec":{"big":${text}}}`) as any).spec.big;
    assert.equal(big("9007199254740993"), 9007199254740993n);
    assert.equal(big("9007199254740991"), 9007199254740991);
  });

  it("decodes -0 as the integer 0, as Go does", () => {
    for (const field of ["count", "big"]) {
      const { spec } = read(`{"spec":{"${field}":-0}}`) as any;
      assert(Object.is(spec[field] ?? 0, 0), field);
    }
  });

  it("passes a scalar codec the digits of a number if they matter", () => {
    assert.deepEqual((read('{"spec":{"amounts":{"a":1e3,"b":1000}}}') as any).spec.amounts, {
      a: "1e3",
      b: "1000",
    });
  });

  it("drops line breaks and unused bits from base64", () => {
    assert.equal((read('{"spec":{"raw":"YWJj\\nZGVm"}}') as any).spec.raw, "YWJjZGVm");
    assert.equal((read('{"spec":{"raw":"YR=="}}') as any).spec.raw, "YQ==");
  });

  it("decodes recursive types, to a bounded depth", () => {
    const deep = (levels: number) =>
      `${'{"below":['.repeat(levels)}{"value":1}${"]}".repeat(levels)}`;
    assert.ok(fromJson(node, parseJson(deep(400)).value));
    assert.throws(() => fromJson(node, parseJson(deep(3000)).value), {
      name: "DecodeFault",
      message: "exceeded max depth",
    });
  });

  it("limits the depth of values of unspecified structure", () => {
    const any = structs("api/sample/v1")("Any", "", { any: value(1, anything, "") });
    const deep = (levels: number) =>
      parseJson(`{"any":${"[".repeat(levels)}${"]".repeat(levels)}}`);
    assert.ok(fromJson(any, deep(400).value));
    assert.throws(() => fromJson(any, deep(9000).value), { message: "exceeded max depth" });
  });

  const faults: readonly (readonly [string, string])[] = [
    ["[]", "array into Go value of type v1.Thing"],
    ['{"metadata":"a"}', "string into Go struct field Thing.metadata of type v1.Meta"],
    ['{"metadata":{"name":12}}', "number into Go struct field Meta.metadata.name of type string"],
    [
      '{"metadata":{"labels":{"n":5}}}',
      "number into Go struct field Meta.metadata.labels of type string",
    ],
    [
      '{"metadata":{"labels":[]}}',
      "array into Go struct field Meta.metadata.labels of type map[string]string",
    ],
    [
      '{"metadata":{"tags":"a"}}',
      "string into Go struct field Meta.metadata.tags of type []string",
    ],
    [
      '{"metadata":{"tags":["a",{}]}}',
      "object into Go struct field Meta.metadata.tags of type string",
    ],
    ['{"metadata":{"made":5}}', "number into Go struct field Meta.metadata.made of type string"],
    [
      '{"spec":{"count":-0.0}}',
      "number -0.0 into Go struct field ThingSpec.spec.count of type int32",
    ],
    [
      '{"spec":{"count":15.5}}',
      "number 15.5 into Go struct field ThingSpec.spec.count of type int32",
    ],
    [
      '{"spec":{"count":15.0}}',
      "number 15.0 into Go struct field ThingSpec.spec.count of type int32",
    ],
    [
      '{"spec":{"count":1e1}}',
      "number 1e1 into Go struct field ThingSpec.spec.count of type int32",
    ],
    [
      '{"spec":{"count":2147483648}}',
      "number 2147483648 into Go struct field ThingSpec.spec.count of type int32",
    ],
    [
      '{"spec":{"big":99999999999999999999999}}',
      "number 99999999999999999999999 into Go struct field ThingSpec.spec.big of type int64",
    ],
    ['{"spec":{"count":"1"}}', "string into Go struct field ThingSpec.spec.count of type int32"],
    ['{"spec":{"on":1}}', "number into Go struct field ThingSpec.spec.on of type bool"],
    ['{"spec":{"ratio":"1"}}', "string into Go struct field ThingSpec.spec.ratio of type float64"],
    [
      '{"spec":{"ratio":1e400}}',
      "number 1e400 into Go struct field ThingSpec.spec.ratio of type float64",
    ],
    ['{"spec":{"type":1}}', "number into Go struct field ThingSpec.spec.type of type v1.ThingType"],
    ['{"spec":{"raw":5}}', "number into Go struct field ThingSpec.spec.raw of type []uint8"],
    [
      '{"spec":{"raw":[1,256]}}',
      "number 256 into Go struct field ThingSpec.spec.raw of type uint8",
    ],
    ['{"spec":{"raw":["a"]}}', "string into Go struct field ThingSpec.spec.raw of type uint8"],
    ['{"spec":{"ports":{}}}', "object into Go struct field ThingSpec.spec.ports of type []v1.Port"],
    [
      '{"spec":{"ports":["c"]}}',
      "string into Go struct field ThingSpec.spec.ports of type v1.Port",
    ],
    [
      '{"spec":{"ports":[{},{"number":"80"}]}}',
      "string into Go struct field Port.spec.ports.number of type int32",
    ],
    ['{"spec":{"path":5}}', "number into Go struct field ThingSpec.spec.path of type string"],
    [
      '{"spec":{"numbers":[1,2.0]}}',
      "number 2.0 into Go struct field ThingSpec.spec.numbers of type int32",
    ],
    [
      '{"spec":{"extra":{"k":5}}}',
      "number into Go struct field ThingSpec.spec.extra of type v1.Extra",
    ],
  ];
  for (const [text, message] of faults) {
    it(`rejects ${text}`, () => assert.equal(fault(text), `json: cannot unmarshal ${message}`));
  }

  it("reports the first error in document order", () => {
    assert.match(fault('{"spec":{"on":1},"metadata":"a"}'), /spec\.on/);
    assert.equal(fault('{"metadata":{"made":"soon"},"spec":1}'), 'parsing moment "soon"');
  });

  it("reports the first error of a scalar codec, which stops Go's decoding", () => {
    const text = '{"spec":{"on":1},"metadata":{"made":"soon"}}';
    assert.equal(fault(text), 'parsing moment "soon"');
    assert.match(fault('{"spec":{"on":1,"rawByKey":{"k":"*"}},"metadata":{"name":5}}'), /spec\.on/);
  });

  const base64: readonly (readonly [string, number])[] = [
    ["***", 0],
    ["YQ", 0],
    ["_-8=", 0],
    ["not base64!", 3],
    ["plain text", 5],
    ["YQ==x", 4],
    ["YQ=", 3],
    ["Y===", 1],
    ["YWJjYQ=a", 6],
    ["YWJj\nYQ", 5],
  ];
  for (const [text, index] of base64) {
    it(`reports the position of the error in base64 ${JSON.stringify(text)}`, () =>
      assert.equal(
        fault(JSON.stringify({ spec: { rawByKey: { k: text } } })),
        `illegal base64 data at input byte ${index}`,
      ));
  }
});
