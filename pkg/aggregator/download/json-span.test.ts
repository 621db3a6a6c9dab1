import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { JsonSpan, JsonSpanError } from "./json-span.ts";

const spanOf = (text: string) => JsonSpan.of(Buffer.from(text));

async function valueOf(span: JsonSpan): Promise<unknown> {
  const members = await span.members();
  return Object.fromEntries([...members].map(([name, value]) => [name, value.parse()]));
}

describe("JsonSpan", () => {
  it("reads members as JSON.parse does", async () => {
    for (const text of [
      "{}",
      ' { "a" : 1 , "b":[1,{"c":"}"}], "\\u0063" : null } ',
      '{"a":"\\"}{][,","b":{"c":[[],{}]},"d":-1.5e3,"e":true}',
      '{"a":1,"a":2}',
      '{"ä":"ö","😀":"\\\\"}',
    ]) {
      assert.deepEqual(await valueOf(spanOf(text)), JSON.parse(text), text);
    }
    assert.deepEqual(await valueOf(spanOf("null")), {});
    assert.deepEqual(await valueOf(spanOf('\ufeff{"a":1}')), { a: 1 });
  });

  it("reads elements as JSON.parse does", async () => {
    for (const text of ["[]", "[1]", ' [ "a,]" , {"b":[1,2]}, [[3]] ] ', "null"]) {
      const elements = await spanOf(text).elements();
      const want = (JSON.parse(text) ?? []) as unknown[];
      assert.deepEqual(
        elements.map((each) => each.parse()),
        want,
      );
    }
  });

  it("rejects malformed JSON and values of another type", async () => {
    for (const text of [
      "",
      "{",
      "{]",
      '{"a"',
      '{"a":',
      '{"a" 1}',
      "[1}",
      "[]",
      "1",
      '{"a":1',
      '{"',
    ]) {
      await assert.rejects(async () => valueOf(spanOf(text)), JsonSpanError, text);
    }
    for (const text of ["{}", '"a"', "[1", "[1 2]", "[tru]", "["]) {
      await assert.rejects(
        async () => (await spanOf(text).elements()).map((each) => each.parse()),
        JsonSpanError,
        text,
      );
    }
  });

  it("rejects a value that is too deep, too large, or has too many members", async () => {
    const deep = `{"a":${"[".repeat(300)}${"]".repeat(300)}}`;
    await assert.rejects(valueOf(spanOf(deep)), /nested deeper than 256 levels/);
    assert.throws(() => spanOf("[".repeat(1_000_000)).parse(), /nested deeper/);
    const large = spanOf(`{"a":"${"x".repeat(3_000_000)}"}`);
    await assert.rejects(valueOf(large), /larger than/);
    const many = spanOf(`[${"1,".repeat(200_000)}1]`);
    await assert.rejects(many.elements(), /more than 100000 members/);
    const blank = spanOf(`{${" ".repeat(100_000)}}`);
    await assert.rejects(blank.members(), /white space/);
    const name = spanOf(`{"${"x".repeat(10_000)}":1}`);
    await assert.rejects(name.members(), /does not end within/);
  });

  it("yields to the event loop while it scans a large document", async () => {
    const member = `"${"x".repeat(1000)}"`;
    const document = spanOf(`{"a":[${Array.from({ length: 30_000 }, () => member).join(",")}]}`);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    let turns = 0;
    const count = setInterval(() => (turns += 1), 1);
    const inner = (await document.members()).get("a");
    assert.equal((await inner?.elements())?.length, 30_000);
    clearInterval(count);
    delay.disable();
    assert.ok(turns > 0);
  });
});
