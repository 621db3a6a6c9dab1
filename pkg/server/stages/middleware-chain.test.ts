import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import Koa from "koa";
import { MiddlewareChain, type Stage, type StageObserver } from "./middleware-chain.ts";

interface Start {
  readonly log: string[];
}

const name: Stage<Start, { readonly name: string }> = {
  name: "name",
  run: async ({ state: { log } }, next) => {
    log.push("name in");
    await next({ name: "Ada" });
    log.push("name out");
  },
};

const greet: Stage<Start & { readonly name: string }, object> = {
  name: "greet",
  run: async ({ state }, next) => {
    state.log.push(`hello ${state.name}`);
    await next({});
  },
};

const stop: Stage<Start, object> = { name: "stop", run: async () => undefined };

/** Sends one request through Koa; returns what the stages logged, and how the last one ended. */
async function run(
  install: (chain: MiddlewareChain<Start>) => unknown,
  observerOf: (stage: string) => StageObserver | undefined = () => undefined,
): Promise<readonly string[]> {
  const log: string[] = [];
  const app = new Koa();
  app.on("error", (error: Error) => log.push(`error ${error.message}`));
  app.use((context, next) => {
    context.state["log"] = log;
    return next();
  });
  install(MiddlewareChain.on<Start>(app, observerOf));
  const request = new IncomingMessage(new Socket());
  await app.callback()(request, new ServerResponse(request));
  return log;
}

describe("middleware chain", () => {
  it("nests stages, each with the state that earlier ones add", async () => {
    const log = await run((chain) => chain.use(name).use(greet));
    assert.deepEqual(log, ["name in", "hello Ada", "name out"]);
  });

  it("does not compile in the wrong order", async () => {
    // @ts-expect-error greet needs a name that no stage has added
    const log = await run((chain) => chain.use(greet));
    assert.deepEqual(log, ["hello undefined"]);
  });

  it("ends at a stage that does not call next, and times each started stage once", async () => {
    const timed: string[] = [];
    const observer = (stage: string) => () => void timed.push(stage);
    const log = await run((chain) => chain.use(name).use(stop).use(greet), observer);
    assert.deepEqual(log, ["name in", "name out"]);
    assert.deepEqual(timed, ["name", "stop"]);
  });

  it("does not install idle stages", async () => {
    const log = await run((chain) => chain.use({ ...name, isIdle: true }));
    assert.deepEqual(log, []);
  });

  it("propagates synchronous and asynchronous errors", async () => {
    for (const fail of [() => Promise.reject(new Error("broken")), () => assert.fail("broken")]) {
      const broken: Stage<Start, object> = { name: "broken", run: fail };
      assert.deepEqual(await run((chain) => chain.use(broken)), ["error broken"]);
      const observed = await run(
        (chain) => chain.use(broken),
        () => () => undefined,
      );
      assert.deepEqual(observed, ["error broken"]);
    }
  });
});
