import assert from "node:assert/strict";
import { flag, parseFlags, UsageError } from "./parse.ts";

const flags = {
  "secure-port": flag("int", 6443, "port", { minimum: 0, maximum: 65535 }),
  "bind-address": flag("string", "0.0.0.0", "address"),
  profiling: flag("bool", true, "profiles"),
  "event-ttl": flag("duration", 3_600_000, "life of events"),
  "etcd-servers": flag("list", [], "endpoints"),
  "runtime-config": flag("pairs", new Map(), "switches"),
  v: flag("int", 0, "detail"),
  "storage-backend": flag("string", "embedded", "where", { values: ["embedded", "etcd3"] }),
};

function refuses(words: readonly string[], sentence: RegExp): void {
  assert.throws(
    () => parseFlags(flags, words),
    (error) => error instanceof UsageError && sentence.test(error.message),
  );
}

describe("flags", () => {
  it("accepts values after = and after a space, and booleans without a value", () => {
    const values = parseFlags(flags, [
      "--secure-port=7443",
      "--bind-address",
      "::1",
      "--profiling=false",
      "--event-ttl=1h30m",
    ]);
    assert.equal(values["secure-port"], 7443);
    assert.equal(values["bind-address"], "::1");
    assert.equal(values.profiling, false);
    assert.equal(values["event-ttl"], 5_400_000);
    assert.equal(parseFlags(flags, ["--profiling"]).profiling, true);
    for (const words of [["-v=4"], ["-v", "4"], ["--v=4"]]) {
      assert.equal(parseFlags(flags, words).v, 4);
    }
  });

  it("keeps defaults", () => {
    const values = parseFlags(flags, []);
    assert.equal(values["secure-port"], 6443);
    assert.deepEqual(values["etcd-servers"], []);
  });

  it("appends repeated lists and pairs", () => {
    const values = parseFlags(flags, [
      "--etcd-servers=http://a:1,http://b:1",
      "--etcd-servers=http://c:1",
      "--runtime-config=api/all=true,batch/v1=false",
      "--runtime-config=events.k8s.io/v1",
    ]);
    assert.deepEqual(values["etcd-servers"], ["http://a:1", "http://b:1", "http://c:1"]);
    assert.deepEqual(
      [...values["runtime-config"]],
      [
        ["api/all", "true"],
        ["batch/v1", "false"],
        ["events.k8s.io/v1", "true"],
      ],
    );
  });

  it("rejects invalid words in one sentence", () => {
    refuses(["--secure-prt=1"], /^unknown flag: --secure-prt \(did you mean --secure-port\?\)$/);
    refuses(["--__proto__=1"], /^unknown flag: --__proto__$/);
    refuses(["--secure-port"], /^flag needs an argument: --secure-port$/);
    refuses(["--secure-port=many"], /must be an integer$/);
    refuses(["--secure-port=65536"], /must not be more than 65535$/);
    refuses(["--profiling=maybe"], /must be true or false$/);
    refuses(["--event-ttl=5"], /must be a duration/);
    refuses(["--storage-backend=files"], /must be one of embedded, etcd3$/);
    refuses(["serve"], /^unexpected argument: "serve"$/);
  });

  it("ends flags at --, and names unknown shorthands", () => {
    const others: string[] = [];
    assert.equal(parseFlags(flags, ["-v=2", "a", "--", "--b"], others).v, 2);
    assert.deepEqual(others, ["a", "--b"]);
    refuses(["-x"], /^unknown shorthand flag: 'x' in -x$/);
    refuses(["--v=much"], /^invalid argument "much" for "--v" flag: must be an integer$/);
  });

  it("treats an empty value as the default only if the flag declares it", () => {
    const media = flag("string", "json", "form", { values: ["json"], emptyIsDefault: true });
    assert.equal(parseFlags({ media }, ["--media="]).media, "json");
    assert.equal(parseFlags({ media }, ["--media=json", "--media="]).media, "json");
    refuses(["--storage-backend="], /must be one of/);
  });
});
