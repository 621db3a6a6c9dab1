import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { Catalog, domainOf } from "#meta";
import { parseRequestInfo, parseTarget } from "#request";
import type { WorkEstimate } from "../contract.ts";
import type { CollectionSize } from "./list-seats.ts";
import { WatchTracker } from "./watch-tracker.ts";
import { WorkEstimator } from "./work-estimator.ts";

const configMaps = new Catalog(builtinKinds, domainOf()).find("", "v1", "configmaps");
const names = { flowSchema: "s", priorityLevel: "level" };

/** A server with `watches` watches of all config maps. */
function estimatorWith(
  options: { readonly maxSeats?: number; readonly isSizeBased?: boolean; watches?: number } = {},
) {
  const tracker = new WatchTracker();
  const counts: number[] = [];
  for (let index = 0; index < (options.watches ?? 0); index++) {
    tracker.register(read("GET /api/v1/configmaps?watch=true").info, "");
  }
  let known: CollectionSize | undefined;
  const estimator = new WorkEstimator({
    sizeOf: () => known,
    watches: tracker,
    dispatcher: { maxSeats: () => options.maxSeats },
    metrics: { watchCount: (_level, _schema, count) => void counts.push(count) },
    isSizeBased: options.isSizeBased ?? false,
  });
  const estimate = (text: string, size?: CollectionSize): WorkEstimate => {
    known = size;
    return estimator.estimate({ ...read(text), resource: configMaps }, names);
  };
  return { estimate, counts };
}

function read(text: string) {
  const [method = "", url = ""] = text.split(" ");
  const target = parseTarget(url)!;
  return { info: parseRequestInfo(method, target), query: target.query };
}

const size = (objects: number, bytesEach = 100): CollectionSize => ({
  objects,
  bytes: objects * bytesEach,
});

const lists = "GET /api/v1/configmaps";
/** Seats of lists of config maps, by query, objects and mean size in bytes. */
const listTable: readonly [query: string, size: CollectionSize | undefined, seats: number][] = [
  ["", undefined, 1],
  ["", size(0), 1],
  ["", size(100), 1],
  ["", size(101), 2],
  ["", size(10_000), 10],
  ["limit=500", size(10_000), 5],
  ["limit=50", size(10_000), 1],
  ["limit=0", size(450), 5],
  ["limit=x", size(450), 5],
  // "Any version" is answered with the whole collection.
  ["limit=50&resourceVersion=0", size(450), 5],
  ["limit=50&continue=token", size(450), 1],
  // A list with a selector reads all objects, and one of an exact version loads them first.
  ["limit=50&labelSelector=a%3Db", size(450), 5],
  ["fieldSelector=metadata.namespace%3Dx", size(450), 5],
  ["fieldSelector=metadata.name%3Dx", size(450), 1],
  ["limit=200&resourceVersion=7", size(450), 4],
  ["resourceVersion=7&resourceVersionMatch=Exact", size(250), 5],
  ["resourceVersion=7", size(250), 3],
  ["watch=true", size(450), 1],
  ["watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", size(450), 5],
];

describe("work estimates", () => {
  for (const [query, objects, seats] of listTable) {
    it(`are ${seats} seats for ?${query} of ${objects?.objects ?? "unknown"} objects`, () => {
      const { estimate } = estimatorWith();
      const expected = { initialSeats: seats, finalSeats: 0, additionalLatency: 0 };
      assert.deepEqual(estimate(`${lists}?${query}`, objects), expected);
    });
  }

  it("count large objects by response size, up to a megabyte", () => {
    const { estimate } = estimatorWith({ isSizeBased: true });
    const seatsOf = (text: string, bytesEach: number) =>
      estimate(text, size(50, bytesEach)).initialSeats;
    assert.equal(seatsOf(lists, 1000), 1);
    assert.equal(seatsOf(lists, 6_000), 3);
    assert.equal(seatsOf(`${lists}?limit=1`, 150_000), 2);
    assert.equal(seatsOf(lists, 1_000_000), 10);
  });

  it("do not exceed the maximum of the level", () => {
    const { estimate } = estimatorWith({ maxSeats: 3, watches: 90 });
    assert.equal(estimate(lists, size(10_000)).initialSeats, 3);
    // The same work: 9 seats for 5 ms.
    assert.deepEqual(estimate("POST /api/v1/namespaces/x/configmaps"), {
      initialSeats: 1,
      finalSeats: 3,
      additionalLatency: 15,
    });
  });

  it("add final seats and latency for a mutation that notifies ten or more watches", () => {
    const few = estimatorWith({ watches: 9 });
    const one = { initialSeats: 1, finalSeats: 0, additionalLatency: 0 };
    assert.deepEqual(few.estimate("DELETE /api/v1/namespaces/x/configmaps/y"), one);
    assert.deepEqual(few.counts, [9]);
    const { estimate } = estimatorWith({ watches: 25 });
    const more = { initialSeats: 1, finalSeats: 3, additionalLatency: 5 };
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      assert.deepEqual(estimate(`${method} /api/v1/namespaces/x/configmaps/y`), more);
    }
    assert.deepEqual(estimate("POST /api/v1/namespaces/x/secrets"), one);
    assert.deepEqual(estimate("GET /api/v1/namespaces/x/configmaps/y"), one);
  });

  it("ignore watches for TokenRequests", () => {
    const { estimate, counts } = estimatorWith({ watches: 50 });
    const url = "/api/v1/namespaces/x/serviceaccounts/y/token";
    assert.equal(estimate(`POST ${url}`).finalSeats, 0);
    assert.deepEqual(counts, []);
  });
});

describe("watch tracker", () => {
  const infoOf = (text: string) => read(text).info;

  it("counts watches of the collection, the namespace and the object", () => {
    const tracker = new WatchTracker();
    const all = tracker.register(infoOf("GET /api/v1/pods?watch=true"), "");
    tracker.register(infoOf("GET /api/v1/namespaces/a/pods?watch=true"), "");
    tracker.register(infoOf("GET /api/v1/namespaces/b/pods?watch=true"), "");
    const byName = "fieldSelector=metadata.name%3Dx";
    const named = infoOf(`GET /api/v1/namespaces/a/pods?watch=true&${byName}`);
    tracker.register(named, "metadata.name=x");
    const interested = (text: string) => tracker.interestedWatchCount(infoOf(text));
    assert.equal(interested("PUT /api/v1/namespaces/a/pods/x"), 3);
    assert.equal(interested("PUT /api/v1/namespaces/a/pods/y"), 2);
    assert.equal(interested("POST /api/v1/namespaces/c/pods"), 1);
    assert.equal(interested("PUT /apis/apps/v1/namespaces/a/deployments/x"), 0);
    all();
    all();
    assert.equal(interested("PUT /api/v1/namespaces/a/pods/x"), 2);
  });

  it("ignores watches with an indexed field selector", () => {
    const tracker = new WatchTracker();
    const info = infoOf("GET /api/v1/pods?watch=true");
    for (const node of ["n1", "n2"]) tracker.register(info, `spec.nodeName=${node}`);
    assert.equal(tracker.interestedWatchCount(infoOf("DELETE /api/v1/namespaces/a/pods/x")), 0);
    tracker.register(info, "spec.nodeName!=n1");
    assert.equal(tracker.interestedWatchCount(infoOf("DELETE /api/v1/namespaces/a/pods/x")), 1);
  });
});
