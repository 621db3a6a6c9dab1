/**
 * One request never holds up the others for long: too many values are refused before they are built,
 * and large objects are written in slices. The bound on time is generous, since other tests run
 * beside this one; `run.ts` prints the figures.
 */
import assert from "node:assert/strict";
import { acceptedBodies } from "./accepted-bodies.ts";
import { hostileBodies } from "./hostile-bodies.ts";
import { MeasuredServer } from "./measure.ts";
import { expressions } from "./scenes/expressions.ts";
import { storedObjects } from "./stored-objects.ts";

/** CPU time of one turn, ms. Without the bounds it takes 500 to 10,000 ms. */
const longestTurnMs = 1000;

describe("event loop stalls", () => {
  let server: MeasuredServer;

  before(async () => {
    server = await MeasuredServer.start();
  });
  after(() => server.close());

  for (const each of [...hostileBodies, ...acceptedBodies, ...storedObjects]) {
    it(`has turns for others: ${each.name}`, async () => {
      const { status, text, turnMs } = await server.send(each);
      if (!hostileBodies.includes(each)) assert.notEqual(status, 413, text);
      assert.ok(status < 500, `${status} ${text}`);
      assert.ok(turnMs < longestTurnMs, `${turnMs} ms`);
    });
  }

  it("answers 413 in Kubernetes' words for too many values", async () => {
    const each = hostileBodies.find(({ name }) => name === "ConfigMap, JSON: 150,000 keys");
    assert.ok(each !== undefined);
    const { status, text } = await server.send(each);
    assert.equal(status, 413);
    assert.deepEqual(JSON.parse(text), {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message:
        "Request entity too large: the object has too many fields, map keys and list elements",
      reason: "RequestEntityTooLarge",
      code: 413,
    });
  });
});

describe("event loop stalls by expressions", () => {
  let server: MeasuredServer;

  before(async () => {
    server = await MeasuredServer.start(undefined, expressions.name);
  });
  after(() => server.close());

  for (const each of expressions.requests) {
    it(`has turns for others: ${each.name}`, async () => {
      const { status, text, turnMs } = await server.send(each);
      assert.ok(status === 201 || status === 422, `${status} ${text}`);
      assert.ok(turnMs < longestTurnMs, `${turnMs} ms`);
    });
  }
});
