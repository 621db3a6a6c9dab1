import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseFlags, UsageError } from "../flags/parse.ts";
import { authenticationFlags, authenticationOptions } from "./authentication-flags.ts";

describe("authentication flags", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-flags-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const put = (name: string, text: string) => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  const chosen = (...words: readonly string[]) =>
    authenticationOptions(parseFlags(authenticationFlags, words));
  const issuer = "--oidc-issuer-url=https://i.example.org";
  const oidc = (...words: readonly string[]) =>
    chosen(issuer, "--oidc-client-id=me", ...words).oidc;

  it("configure no authenticator by default", () => assert.deepEqual(chosen(), {}));

  it("configure one OIDC issuer, and prefix user names with its URL", () => {
    const { username } = oidc()!.issuer.claimMappings;
    assert.deepEqual(username, { claim: "sub", prefix: "https://i.example.org#" });
    assert.deepEqual(oidc()!.algorithms, ["RS256"]);
    const prefix = (...words: readonly string[]) =>
      oidc(...words)!.issuer.claimMappings.username.prefix;
    assert.equal(prefix("--oidc-username-claim=email"), "");
    assert.equal(prefix("--oidc-username-prefix=-"), "");
    assert.equal(prefix("--oidc-username-claim=email", "--oidc-username-prefix=o:"), "o:");
    const required = oidc("--oidc-required-claim=a=b", "--oidc-required-claim=c=d");
    assert.deepEqual(required!.issuer.claimValidationRules, [
      { claim: "a", requiredValue: "b" },
      { claim: "c", requiredValue: "d" },
    ]);
  });

  it("read the files that the webhook's kubeconfig names by relative paths", () => {
    put("hook.token", "secret\n");
    const user = { user: { tokenFile: "hook.token" }, name: "u" };
    const cluster = { cluster: { server: "https://hook.example.org" }, name: "c" };
    const context = { context: { cluster: "c", user: "u" }, name: "x" };
    const config = { clusters: [cluster], users: [user], contexts: [context] };
    const file = put("hook", JSON.stringify({ ...config, "current-context": "x" }));
    const { tokenWebhook } = chosen(`--authentication-token-webhook-config-file=${file}`);
    assert.equal(tokenWebhook?.endpoint.authorization(), "Bearer secret");
    assert.deepEqual([tokenWebhook?.cacheMs, tokenWebhook?.version], [120_000, "v1beta1"]);
  });

  it("configure the headers and the reloaded CA file of a front proxy", () => {
    const ca = put("ca", "PEM");
    const words = ["--requestheader-username-headers=X-A,X-B", "--requestheader-allowed-names=p"];
    const { frontProxy } = chosen(`--requestheader-client-ca-file=${ca}`, ...words);
    assert.deepEqual(frontProxy, {
      ca: { file: ca },
      allowedNames: ["p"],
      headers: { username: ["X-A", "X-B"], uid: [], group: [], extraPrefix: [] },
    });
  });

  for (const [words, message] of [
    [[issuer], /must be given together/],
    [[issuer, "--oidc-client-id=a", "--oidc-signing-algs=HS256"], /"HS256" is none of RS256/],
    [[issuer, "--oidc-client-id=a", "--oidc-signing-algs=none"], /"none" is none of/],
    [[issuer, "--oidc-client-id=a", "--authentication-config=/x"], /mutually exclusive/],
    [["--authentication-config=/nowhere"], /\/nowhere cannot be read \(ENOENT\)/],
    [["--requestheader-client-ca-file=/nowhere"], /--requestheader-client-ca-file: \/nowhere/],
    [["--authentication-token-webhook-version=v2"], /must be one of v1, v1beta1/],
  ] as const) {
    it(`are rejected: ${words.join(" ")}`, () => {
      assert.throws(
        () => chosen(...words),
        (error: unknown) => error instanceof UsageError && message.test(error.message),
      );
    });
  }
});
