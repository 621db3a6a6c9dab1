import assert from "node:assert/strict";
import { requestHeaders, responseHeaders } from "./headers.ts";

const user = {
  name: "vera",
  uid: "7",
  groups: ["devs", "système"],
  extra: new Map([["acme.com/Scopes", ["a", "b"]]]),
};
const request = { method: "GET", path: "/", user, signal: new AbortController().signal };

const kept = (headers: Record<string, string | readonly string[]>) =>
  requestHeaders({ ...request, headers, user: { ...user, uid: "", groups: [], extra: new Map() } });

describe("request headers for backends", () => {
  it("contain the user, groups and extra attributes", () => {
    assert.deepEqual(requestHeaders({ ...request, headers: {} }), {
      "x-remote-user": "vera",
      "x-remote-uid": "7",
      "x-remote-group": ["devs", Buffer.from("système").toString("latin1")],
      "x-remote-extra-acme.com%2Fscopes": ["a", "b"],
    });
  });

  it("omit absent user attributes", () => {
    assert.deepEqual(kept({}), { "x-remote-user": "vera" });
  });

  for (const name of [
    "authorization",
    "Authorization",
    "x-remote-user",
    "X-Remote-User",
    "x_remote_user",
    "x-remote_group",
    "x-remote-extra-scopes",
    "x-remote-anything",
    "impersonate-user",
    "impersonate-extra-a",
    "connection",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "transfer_encoding",
    "upgrade",
    "http2-settings",
    "host",
    "expect",
    ":path",
  ]) {
    it(`do not contain the client's ${name}`, () => {
      assert.deepEqual(kept({ [name]: "root" }), { "x-remote-user": "vera" });
    });
  }

  it("omit headers that Connection lists, except the user's", () => {
    const connection = "close, X-Secret , x-remote-user";
    const sent = kept({ connection, "x-secret": "1", accept: "text/plain" });
    assert.deepEqual(sent, { accept: "text/plain", "x-remote-user": "vera" });
  });

  it("keep multiple values separate", () => {
    assert.deepEqual(kept({ accept: ["a", "b"] })["accept"], ["a", "b"]);
  });
});

describe("response headers of backends", () => {
  it("are proxied without hop-by-hop headers", () => {
    const headers = { ":status": "200", connection: "X-Own", "x-own": "1", etag: '"1"', te: "a" };
    assert.deepEqual(responseHeaders(headers), { etag: '"1"' });
  });
});
