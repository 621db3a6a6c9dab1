import assert from "node:assert/strict";
import { ordinaryDialer } from "../testing.ts";
import { webhookPlace } from "./service-place.ts";

const reader = { service: () => assert.fail(), slices: () => assert.fail() };
const parts = { reader, dialer: ordinaryDialer };
const ofUrl = (url: string) => webhookPlace({ url }, parts).url.href;
const ofService = (path: string) => {
  const service = { namespace: "ns", name: "hook", path, port: 8443 };
  return webhookPlace({ service }, parts).url.href.replace("https://hook.ns.svc:8443", "");
};

describe("paths of webhooks", () => {
  for (const [path, sent] of [
    ["", "/"],
    ["/", "/"],
    ["//", "/"],
    ["/hook", "/hook"],
    ["//hook", "/hook"],
    ["/hook/", "/hook"],
    ["/a//b///c/", "/a/b/c"],
    ["/a/./b", "/a/b"],
    ["/a/../b", "/b"],
    ["/../../b/..", "/"],
    ["/a:b@c,d;e=f+g$h&i", "/a:b@c,d;e=f+g$h&i"],
    ["/~a-b_c.d", "/~a-b_c.d"],
  ] as const) {
    it(`sends ${sent} for ${JSON.stringify(path)}, of a URL and of a service`, () => {
      assert.equal(ofUrl(`https://hook.example${path}`), `https://hook.example${sent}`);
      assert.equal(ofService(path), sent);
    });
  }

  it("treats the path of a service as decoded, and that of a URL as encoded", () => {
    assert.equal(ofService("/a b%2F?c#d"), "/a%20b%252F%3Fc%23d");
    assert.equal(ofUrl("https://hook.example/a%20b%2Fc"), "https://hook.example/a%20b/c");
    assert.equal(ofUrl("https://hook.example//a/%2e%2e//b/"), "https://hook.example/b");
    assert.equal(ofService("/(a)!*'"), "/%28a%29%21%2A%27");
  });
});
