import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { arbitrary } from "../arbitrary.ts";
import { fromJson } from "./from-json.ts";
import { parseJson } from "./json-parse.ts";
import { meta, thing } from "../testing.ts";
import { toJson, toJsonValue } from "./to-json.ts";

const typeMeta = { kind: "Thing", apiVersion: "sample/v1" };

function object(text: string): any {
  return fromJson(thing, parseJson(text).value);
}

describe("toJson", () => {
  it("writes kind and apiVersion first, then fields in the order of declaration", () => {
    const text = '{"spec":{"big":1,"count":0,"path":"p"},"metadata":{"tags":["t"],"name":"n"}}';
    assert.equal(
      toJson(thing, object(text), typeMeta),
      '{"kind":"Thing","apiVersion":"sample/v1","metadata":{"name":"n","tags":["t"]},' +
        '"spec":{"count":0,"big":1,"names":null,"owner":null,"seen":null,"path":"p"}}',
    );
    assert.equal(toJson(meta, {}, typeMeta), '{"kind":"Thing","apiVersion":"sample/v1"}');
    assert.equal(toJson(meta, {}), "{}");
  });

  it("omits empty fields that a hook has set, and fills in required ones that it has deleted", () => {
    const bent = object("{}");
    bent.metadata = { name: "", labels: {}, tags: [], made: null };
    delete bent.spec.names;
    bent.spec.on = false;
    bent.spec.big = 0n;
    bent.spec.count = undefined;
    const wanted = '{"metadata":{},"spec":{"names":null,"owner":null,"seen":null}}';
    assert.equal(toJson(thing, bent), wanted);
    assert.deepEqual(toJsonValue(thing, bent), JSON.parse(wanted));
  });

  it("sorts map keys by their bytes, also those that look like indexes", () => {
    const labels = '{"10":"a","9":"b","\u{1f680}":"c","\uffee":"d","__proto__":"e"}';
    assert.equal(
      toJson(meta, fromJson(meta, parseJson(`{"labels":${labels}}`).value)),
      '{"labels":{"10":"a","9":"b","__proto__":"e","\uffee":"d","\u{1f680}":"c"}}',
    );
  });

  it("escapes as Go does", () => {
    const name = '<a> & \u2028 \u2029 " \\ \n \t \u0001 \u007f é';
    assert.equal(
      toJson(meta, { name }),
      '{"name":"\\u003ca\\u003e \\u0026 \\u2028 \\u2029 \\" \\\\ \\n \\t \\u0001 \u007f é"}',
    );
    assert.equal(toJson(meta, { name: `${"x".repeat(99)}"` }), `{"name":"${"x".repeat(99)}\\""}`);
  });

  it("prints all digits of 64-bit integers", () => {
    const text = toJson(thing, object('{"spec":{"big":-9223372036854775808}}'));
    assert.match(text, /"big":-9223372036854775808,/);
  });

  it("round-trips random objects", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = arbitrary(thing, seededRandom(seed));
      const text = toJson(thing, random, typeMeta);
      const parsed = parseJson(text);
      assert.deepEqual(fromJson(thing, parsed.value, { root: true }), random, `seed ${seed}`);
      assert.deepEqual(toJsonValue(thing, random, typeMeta), parsed.value, `seed ${seed}`);
    }
  });

  it("shares nothing with the object", () => {
    const source = object('{"metadata":{"labels":{"a":"b"},"tags":["t"]},"spec":{"ports":[{}]}}');
    const value = toJsonValue(thing, source) as any;
    value.metadata.labels.a = "changed";
    value.metadata.tags.push("u");
    value.spec.ports[0].name = "changed";
    assert.deepEqual(source.metadata, { labels: { a: "b" }, tags: ["t"] });
    assert.deepEqual(source.spec.ports, [{ number: 0 }]);
  });
});
