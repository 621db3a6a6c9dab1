import assert from "node:assert/strict";
import { Chain, type Stage } from "./chain.ts";

interface Start {
  readonly log: string[];
}

const name: Stage<Start, { readonly name: string }> = {
  name: "name",
  run: async ({ log }, next) => {
    log.push("name in");
    await next({ name: "Ada" });
    log.push("name out");
  },
};

const greet: Stage<Start & { readonly name: string }, object> = {
  name: "greet",
  run: async (context, next) => {
    context.log.push(`hello ${context.name}`);
    await next({});
  },
};

const stop: Stage<Start, object> = { name: "stop", run: async () => undefined };
const silent = () => undefined;

describe("chain", () => {
  it("runs stages around each other, each with what came before", async () => {
    const log: string[] = [];
    await Chain.of<Start>().then(name).then(greet).compose(silent)({ log });
    assert.deepEqual(log, ["name in", "hello Ada", "name out"]);
  });

  it("does not compile in the wrong order", () => {
    // @ts-expect-error greet needs a name that nobody has added
    const wrong = Chain.of<Start>().then(greet);
    assert.deepEqual(wrong.names, ["greet"]);
  });

  it("ends where a stage does not pass on, and times every stage it entered once", async () => {
    const timed: string[] = [];
    const observer = (stage: string) => () => void timed.push(stage);
    const log: string[] = [];
    await Chain.of<Start>().then(name).then(stop).then(greet).compose(observer)({ log });
    assert.deepEqual(log, ["name in", "name out"]);
    assert.deepEqual(timed, ["name", "stop"]);
  });

  it("hands errors outwards", async () => {
    const broken: Stage<Start, object> = {
      name: "broken",
      run: async () => {
        throw new Error("broken");
      },
    };
    const run = Chain.of<Start>().then(name).then(broken).compose(silent);
    await assert.rejects(run({ log: [] }), /broken/);
  });
});
