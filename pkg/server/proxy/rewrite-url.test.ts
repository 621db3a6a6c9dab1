import assert from "node:assert/strict";
import { rewriteUrl } from "./rewrite-url.ts";

const prefix = "/api/v1/namespaces/ns/pods/p/proxy";
const hosts = { backend: "10.0.0.9:8080", requestHost: "api:6443" };

describe("rewriteUrl", () => {
  /** As kube-apiserver 1.34 rewrites them in responses of a pod. */
  const urls: readonly (readonly [url: string, rewritten: string])[] = [
    ["/there", `${prefix}/there`],
    ["/there/", `${prefix}/there/`],
    ["/there?x=1#f", `${prefix}/there?x=1#f`],
    ["rel", "rel"],
    ["../up", "../up"],
    ["", ""],
    ["?q=1", "?q=1"],
    ["#f", "#f"],
    ["http://api:6443/abs", `http://api:6443${prefix}/abs`],
    ["//api:6443/abs", `//api:6443${prefix}/abs`],
    ["http://10.0.0.9:8080/abs", `${prefix}/abs`],
    ["https://10.0.0.9:8080/abs//b", `${prefix}/abs/b`],
    ["http://else/abs", "http://else/abs"],
    ["//else/abs", "//else/abs"],
    ["mailto:a@b", "mailto:a@b"],
    ["/a/../b", `${prefix}/b`],
    ["/sp%20c", `${prefix}/sp%20c`],
    ["/q uo'te", `${prefix}/q%20uo%27te`],
    ["/%2fenc", `${prefix}/enc`],
    [`${prefix}/in`, `${prefix}/in`],
  ];
  for (const [url, rewritten] of urls) {
    it(`turns ${JSON.stringify(url)} into ${rewritten}`, () => {
      assert.equal(rewriteUrl(url, { scheme: "", host: "", prefix, ...hosts }), rewritten);
    });
  }

  it("names the backend of an aggregated API", () => {
    const { backend } = hosts;
    const aggregated = {
      scheme: "https",
      host: backend,
      prefix: "",
      backend,
      requestHost: backend,
    };
    assert.equal(rewriteUrl("/p", aggregated), "https://10.0.0.9:8080/p");
    assert.equal(rewriteUrl("https://10.0.0.9:8080/p", aggregated), "https://10.0.0.9:8080/p");
    assert.equal(rewriteUrl("https://else/p", aggregated), "https://else/p");
  });

  it("rejects what is not a URL", () => {
    for (const [url, why] of [
      [":bad", 'parse ":bad": missing protocol scheme'],
      ["http://%zz", 'parse "http://%zz": invalid URL escape "%zz"'],
    ] as const) {
      assert.throws(() => rewriteUrl(url, { scheme: "", host: "", prefix, ...hosts }), {
        name: "UrlFault",
        message: why,
      });
    }
  });
});
