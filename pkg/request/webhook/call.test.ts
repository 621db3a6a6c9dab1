import assert from "node:assert/strict";
import { ordinaryDialer } from "../testing.ts";
import { callWebhook } from "./call.ts";

describe("the call of a webhook that cannot be reached", () => {
  const call = { body: "{}", timeoutMs: 10_000, signal: undefined };

  it("names the service and the address that refused", async () => {
    const url = new URL("https://hook.ns.svc:443/review");
    const target = () => ordinaryDialer.targetOf({ host: "127.0.0.1", port: 1 });
    const place = { url, authorities: "", isService: true, target };
    await assert.rejects(callWebhook(place, call), {
      name: "CallFault",
      message:
        'Post "https://hook.ns.svc:443/review?timeout=10s": ' +
        "dial tcp 127.0.0.1:1: connect: connection refused",
    });
  });
});
