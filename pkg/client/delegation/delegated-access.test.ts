import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { type Clock, systemClock } from "#base";
import type { Client } from "../contract.ts";
import { DelegatedAccess } from "./delegated-access.ts";

const attributes = { nonResourceAttributes: { path: "/metrics", verb: "get" } };
const tokens: Readonly<Record<string, object>> = {
  good: { username: "jo", uid: "7", groups: ["users"], extra: { scope: ["read"] } },
  other: { username: "al", groups: ["users"] },
};

function requestWith(authorization: string | undefined, subject?: object): IncomingMessage {
  const socket = { authorized: subject !== undefined, getPeerCertificate: () => ({ subject }) };
  return { headers: { authorization }, socket } as unknown as IncomingMessage;
}

describe("DelegatedAccess", () => {
  let now: number;
  let specs: any[];
  let access: DelegatedAccess;
  beforeEach(() => {
    now = 0;
    specs = [];
    const create = (_handle: object, { spec }: { readonly spec: any }) => {
      specs.push(spec);
      if (!("token" in spec)) {
        return Promise.resolve({ status: { allowed: spec.user === "jo" || spec.user === "ops" } });
      }
      const user = tokens[spec.token];
      return Promise.resolve({ status: { authenticated: user !== undefined, user } });
    };
    const client = { domain: { api: "k8s.io" }, create } as unknown as Client;
    const clock: Clock = { ...systemClock, monotonic: () => now };
    access = new DelegatedAccess({ client, clock, cacheTtlMs: 1000 });
  });

  it("reviews the token, with uid and extra, and the access", async () => {
    assert.equal(await access.statusCodeFor(requestWith("Bearer good"), attributes), 200);
    const { username: user, ...rest } = tokens["good"] as { username: string };
    assert.deepEqual(specs, [{ token: "good" }, { user, ...rest, ...attributes }]);
  });

  it("distinguishes 401 from 403", async () => {
    assert.equal(await access.statusCodeFor(requestWith(undefined), attributes), 401);
    assert.equal(await access.statusCodeFor(requestWith("Bearer wrong"), attributes), 401);
    assert.equal(await access.statusCodeFor(requestWith("Bearer other"), attributes), 403);
  });

  it("uses the common name and organizations of a verified certificate, without a TokenReview", async () => {
    const certified = requestWith("Bearer other", { CN: "ops", O: ["a", "b"] });
    assert.equal(await access.statusCodeFor(certified, attributes), 200);
    const groups = ["a", "b", "system:authenticated"];
    assert.deepEqual(specs, [{ user: "ops", groups, ...attributes }]);
  });

  it("caches both reviews for the TTL, by request", async () => {
    const request = requestWith("Bearer good");
    await access.statusCodeFor(request, attributes);
    await access.statusCodeFor(request, attributes);
    assert.equal(specs.length, 2);
    const other = { nonResourceAttributes: { path: "/logs", verb: "get" } };
    await access.statusCodeFor(request, other);
    assert.equal(specs.length, 3);
    now = 1000;
    await access.statusCodeFor(request, attributes);
    assert.equal(specs.length, 5);
  });
});
