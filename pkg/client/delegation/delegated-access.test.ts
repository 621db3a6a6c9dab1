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
    access = new DelegatedAccess({ client, clock, freshMs: 1000 });
  });

  it("asks who the token is, with uid and extra, and what it may do", async () => {
    assert.equal(await access.codeFor(requestWith("Bearer good"), attributes), 200);
    const { username: user, ...rest } = tokens["good"] as { username: string };
    assert.deepEqual(specs, [{ token: "good" }, { user, ...rest, ...attributes }]);
  });

  it("tells strangers from users without rights", async () => {
    assert.equal(await access.codeFor(requestWith(undefined), attributes), 401);
    assert.equal(await access.codeFor(requestWith("Bearer wrong"), attributes), 401);
    assert.equal(await access.codeFor(requestWith("Bearer other"), attributes), 403);
  });

  it("takes the name and the organizations of a verified certificate, without a TokenReview", async () => {
    const certified = requestWith("Bearer other", { CN: "ops", O: ["a", "b"] });
    assert.equal(await access.codeFor(certified, attributes), 200);
    const groups = ["a", "b", "system:authenticated"];
    assert.deepEqual(specs, [{ user: "ops", groups, ...attributes }]);
  });

  it("remembers both answers for their time, and by what was asked", async () => {
    const request = requestWith("Bearer good");
    await access.codeFor(request, attributes);
    await access.codeFor(request, attributes);
    assert.equal(specs.length, 2);
    const other = { nonResourceAttributes: { path: "/logs", verb: "get" } };
    await access.codeFor(request, other);
    assert.equal(specs.length, 3);
    now = 1000;
    await access.codeFor(request, attributes);
    assert.equal(specs.length, 5);
  });
});
