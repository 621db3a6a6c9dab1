import assert from "node:assert/strict";
import { domainOf, StatusError } from "#meta";
import { apiserver, listAll, loopbackRequest } from "#registry";
import { type TestRegistry, testRegistry } from "../registry/testing.ts";
import { FlowControlConfiguration } from "./configuration/flow-control-configuration.ts";
import type { FlowRequest, RequestDispatcher } from "./contract.ts";
import { controlledRegistry } from "./controlled-registry.ts";
import { WatchTracker } from "./estimates/watch-tracker.ts";
import { WorkEstimator } from "./estimates/work-estimator.ts";
import { FlowController } from "./flow-controller.ts";

describe("controlledRegistry", () => {
  let test: TestRegistry;
  let started: string[];
  let executing: number;
  let isFull: boolean;
  let watches: WatchTracker;
  beforeEach(async () => {
    test = await testRegistry();
    [started, executing, isFull, watches] = [[], 0, false, new WatchTracker()];
  });

  /** Gives seats to every request, or to none. */
  const dispatcher: Pick<RequestDispatcher, "configure" | "maxSeats" | "start"> = {
    configure: () => undefined,
    maxSeats: () => undefined,
    start: (level, { flowSchema, info }: FlowRequest) => {
      started.push(`${info.verb} ${info.resource} ${flowSchema} ${level}`);
      if (isFull) return { admitted: false, reason: "queue-full", retryAfter: 4 };
      executing++;
      let isOver = false;
      const release = (): void => {
        if (!isOver) executing--;
        isOver = true;
      };
      return { admitted: true, waited: 0, release };
    },
  };

  const controlled = () => {
    const domain = domainOf();
    const report = (what: string) => assert.fail(what);
    const parts = dispatcher as RequestDispatcher;
    const metrics = { watchCount: () => undefined };
    const configuration = new FlowControlConfiguration({
      domain,
      dispatcher,
      totalConcurrency: 10,
      report,
    });
    const sizeOf = () => undefined;
    const estimator = new WorkEstimator({
      watches,
      dispatcher,
      metrics,
      isSizeBased: true,
      sizeOf,
    });
    const controller = new FlowController({
      configuration,
      dispatcher: parts,
      estimator,
      watches,
    });
    return controlledRegistry(test.registry, controller, test.clock);
  };

  const request = (signal: AbortSignal = new AbortController().signal) =>
    loopbackRequest(test.catalog.find("", "v1", "namespaces")!, {}, { signal });

  it("classifies in-process calls, and releases their seats when they return", async () => {
    assert.ok(apiserver.groups.includes("system:masters"));
    await controlled().list(request(), listAll);
    assert.deepEqual(started, ["list namespaces exempt exempt"]);
    assert.equal(executing, 0);
    await assert.rejects(controlled().get({ ...request(), name: "none" }, { resourceVersion: "" }));
    assert.equal(executing, 0);
  });

  it("releases the seats of a watch once it is initialized", async () => {
    const life = new AbortController();
    const options = { ...listAll, allowBookmarks: false, sendInitialEvents: true };
    const events = controlled().watch(request(life.signal), {
      ...options,
      resourceVersionMatch: "NotOlderThan",
      timeoutSeconds: undefined,
    });
    const iterator = events[Symbol.asyncIterator]();
    const first = iterator.next();
    await test.post("v1/namespaces", { metadata: { name: "a" } });
    await first;
    const write = { isResource: true, group: "", resource: "namespaces", namespace: "", name: "" };
    assert.equal(watches.interestedWatchCount(write as never), 1);
    await test.post("v1/namespaces", { metadata: { name: "b" } });
    for (let name = ""; name !== "b";) {
      const { value: event } = await iterator.next();
      if (event?.type === "ADDED") name = event.item.object.metadata.name;
    }
    assert.equal(executing, 0);
    life.abort();
    await iterator.return?.();
    assert.equal(watches.interestedWatchCount(write as never), 0);
  });

  it("throws 429 without calling the registry if no seat is available", async () => {
    isFull = true;
    await assert.rejects(controlled().list(request(), listAll), (error) => {
      return error instanceof StatusError && error.code === 429;
    });
    assert.equal(executing, 0);
  });
});
