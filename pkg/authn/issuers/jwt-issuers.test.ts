import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { kubernetes } from "#meta";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import { signToken } from "../jwt/jwt.ts";
import {
  generateSigningKey,
  keySet,
  parseSigningKey,
  type SigningKey,
} from "../jwt/signing-keys.ts";
import { InvalidTokenError } from "../tokens/token-authenticator.ts";
import { jwtIssuerOptions } from "./configuration.ts";
import { JwtAuthenticator } from "./jwt-issuers.ts";
import { webKeys } from "./json-web-keys.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const seconds = start / 1000;

describe("tokens of JWT issuers", () => {
  let now: number;
  let authority: KeyPair;
  let serving: KeyPair;
  let rsa: SigningKey;
  let ec: SigningKey;
  let server: Server;
  let url: string;
  /** Documents by path; a function sends its own response. */
  let documents: Map<string, unknown>;
  let fetched: string[];
  let reported: string[];
  let issuers: JwtAuthenticator;
  let life: AbortController;

  before(async () => {
    const validity = { validDays: 1, now: Date.now() };
    authority = await createAuthority("authority", validity);
    const leaf = { commonName: "issuer", hosts: ["127.0.0.1"], usage: "server" } as const;
    serving = await issueCertificate(authority, { ...leaf, ...validity });
    rsa = parseSigningKey(await generateSigningKey("RS256"));
    ec = parseSigningKey(await generateSigningKey("ES256"));
  });

  beforeEach(async () => {
    now = start;
    fetched = [];
    reported = [];
    documents = new Map();
    life = new AbortController();
    const tls = { cert: serving.certificate, key: serving.privateKey };
    server = createServer(tls, (request, response) => {
      fetched.push(request.url!);
      const document = documents.get(request.url!);
      if (typeof document === "function") return document(response);
      if (document === undefined) response.writeHead(404);
      response.end(typeof document === "string" ? document : JSON.stringify(document ?? {}));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    documents.set("/.well-known/openid-configuration", { issuer: url, jwks_uri: `${url}/keys` });
    documents.set("/keys", keySet([rsa]));
    issuers = new JwtAuthenticator({
      clock: { now: () => now, monotonic: () => now } as any,
      domain: kubernetes,
      signal: life.signal,
      report: (error) => void reported.push(String(error)),
    });
    configure({});
  });

  afterEach(() => {
    life.abort();
    server.closeAllConnections();
    server.close();
  });

  function configure(changed: object, algorithms?: readonly string[], mapped: object = {}): void {
    const certificateAuthority = authority.certificate;
    const options = jwtIssuerOptions(
      {
        issuer: { url, audiences: ["keelson"], certificateAuthority, ...changed },
        claimMappings: {
          username: { claim: "sub", prefix: "x:" },
          groups: {},
          uid: {},
          ...mapped,
        },
      },
      { domain: kubernetes, ownIssuers: [] },
    );
    issuers.replace([algorithms === undefined ? options : { ...options, algorithms }]);
  }

  function token(changed: object = {}, key = rsa): string {
    const claims = { iss: url, sub: "alice", aud: "keelson", exp: seconds + 60, ...changed };
    return signToken(claims, key);
  }

  const nameOf = async (text: string) => (await issuers.authenticateToken(text))?.user.name;
  const refused = (text: string, message: RegExp) =>
    assert.rejects(issuers.authenticateToken(text), (error: unknown) => {
      assert.ok(error instanceof InvalidTokenError, String(error));
      assert.match(error.message, message);
      return true;
    });

  it("are verified with the published keys of the issuer, fetched once", async () => {
    const both = await Promise.all([nameOf(token()), nameOf(token({ sub: "bob" }))]);
    assert.deepEqual(both, ["x:alice", "x:bob"]);
    assert.deepEqual(fetched, ["/.well-known/openid-configuration", "/keys"]);
    assert.equal(await nameOf(token({ aud: ["other", "keelson"] })), "x:alice");
  });

  it("from unknown issuers are ignored, without requests to them", async () => {
    for (const iss of ["https://elsewhere.example.org", `${url}/`, undefined, 7]) {
      assert.equal(await nameOf(token({ iss })), undefined);
    }
    assert.deepEqual(fetched, []);
  });

  it("may have distributed group claims, whose token is verified as strictly", async () => {
    configure({}, undefined, { groups: { claim: "groups", prefix: "g:" } });
    const leaving = (source: object): string =>
      token({ _claim_names: { groups: "s" }, _claim_sources: { s: source } });
    const at = { endpoint: `${url}/groups`, access_token: "secret" };
    const groupsOf = async (text: string) => (await issuers.authenticateToken(text))?.user.groups;
    let told = token({ groups: ["a", "b"] });
    let shown: string | undefined;
    documents.set("/groups", (response: ServerResponse) => {
      shown = response.req.headers.authorization;
      response.end(told);
    });
    assert.deepEqual(await groupsOf(leaving(at)), ["g:a", "g:b"]);
    assert.equal(shown, "Bearer secret");
    assert.deepEqual(await groupsOf(token({ groups: "own", _claim_names: 7 })), ["g:own"]);
    assert.deepEqual(await groupsOf(leaving({ JWT: told })), []);
    await refused(leaving({ endpoint: `${url}/none` }), /getting distributed claim "groups": Get /);
    await refused(leaving({ endpoint: "http://127.0.0.1:1/" }), /"groups": Get "http:/);
    await refused(token({ _claim_names: { groups: "s" } }), /no claim sources$/);
    const missing = token({ _claim_names: { groups: "t" }, _claim_sources: {} });
    await refused(missing, /contained a source t missing in _claims_sources$/);
    for (const [text, message] of [
      [token({ groups: ["a"], aud: "other" }), /expected audience/],
      [token({ groups: ["a"], exp: seconds }), /token is expired/],
      [token({ groups: ["a"] }, ec), /failed to verify id token signature/],
      [token({}), /did not contain claim: groups$/],
      [token({ groups: ["a"], iss: "https://127.0.0.1:1" }), /not initialized/],
      ["nothing", /has no token for claim "groups"$/],
    ] as const) {
      told = text;
      await refused(leaving(at), message);
    }
  });

  it("are limited to their audiences and validity", async () => {
    await refused(token({ aud: "other" }), /expected audience in \["keelson"\] got \["other"\]/);
    await refused(token({ aud: undefined }), /got \[\]/);
    await refused(token({ exp: seconds }), /token is expired/);
    await refused(token({ exp: undefined }), /token is expired/);
    await refused(token({ exp: "9999999999" }), /token is expired/);
    assert.equal(await nameOf(token({ nbf: seconds + 299 })), "x:alice");
    await refused(token({ nbf: seconds + 301 }), /not valid yet/);
  });

  it("cannot select the verification algorithm", async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = part({ iss: url, sub: "root", aud: "keelson", exp: seconds + 60 });
    const bad = /failed to verify id token signature/;
    await refused(`${part({ alg: "none", kid: rsa.id })}.${claims}.AA`, bad);
    // The public key taken for a shared secret, in every form in which it can be had.
    const { publicKey } = rsa;
    const forms = [
      publicKey.export({ type: "spki", format: "pem" }),
      publicKey.export({ type: "spki", format: "der" }),
      JSON.stringify(keySet([rsa])),
    ];
    for (const form of forms) {
      const payload = `${part({ alg: "HS256", kid: rsa.id })}.${claims}`;
      const mac = createHmac("sha256", form).update(payload).digest("base64url");
      await refused(`${payload}.${mac}`, bad);
    }
    const own = parseSigningKey(await generateSigningKey("ES256"));
    const jwk = own.publicKey.export({ format: "jwk" });
    const head = { alg: "ES256", kid: own.id, jwk, jku: `${url}/evil`, x5u: `${url}/evil` };
    const [, body, signature] = token({}, own).split(".");
    await refused(`${part(head)}.${body}.${signature}`, bad);
    for (const kid of ["../../dev/null", "' or 1=1", "", 7, { a: 1 }, "__proto__"]) {
      const [, rest, mark] = token().split(".");
      await refused(`${part({ alg: "RS256", kid })}.${rest}.${mark}`, bad);
    }
    assert.ok(!fetched.includes("/evil"));
  });

  it("must be signed with an algorithm that the flags allow", async () => {
    configure({}, ["ES256"]);
    await refused(token(), /failed to verify/);
    documents.set("/keys", keySet([ec]));
    now += 2_001;
    assert.equal(await nameOf(token({}, ec)), "x:alice");
  });

  it("trigger limited refreshes of the keys of the issuer", async () => {
    assert.equal(await nameOf(token()), "x:alice");
    documents.set("/keys", keySet([ec]));
    now += 1_000;
    await refused(token({}, ec), /failed to verify/);
    assert.equal(fetched.length, 2);
    now += 1_001;
    assert.equal(await nameOf(token({}, ec)), "x:alice");
    await refused(token(), /failed to verify/);
    assert.equal(fetched.length, 3);
  });

  it("are rejected until the keys have been fetched", async () => {
    const keys = documents.get("/keys");
    const lies: readonly (readonly [string, unknown])[] = [
      ["/keys", "<html>"],
      ["/keys", { keys: "none" }],
      ["/keys", `"${"x".repeat(2 * 1024 * 1024)}"`],
      ["/keys", undefined],
      ["/.well-known/openid-configuration", { issuer: "https://evil", jwks_uri: `${url}/keys` }],
      ["/.well-known/openid-configuration", { issuer: url, jwks_uri: "http://127.0.0.1/keys" }],
      ["/.well-known/openid-configuration", { issuer: url }],
      ["/.well-known/openid-configuration", []],
    ];
    const discovery = documents.get("/.well-known/openid-configuration");
    for (const [path, lie] of lies) {
      documents.set("/.well-known/openid-configuration", discovery).set("/keys", keys);
      documents.set(path, lie);
      now += 10_001;
      const before = reported.length;
      await refused(token(), /not initialized/);
      await refused(token(), /not initialized/);
      assert.equal(reported.length, before + 1, "an issuer that fails is not asked at once again");
    }
    documents.set("/.well-known/openid-configuration", discovery).set("/keys", keys);
    now += 10_001;
    assert.equal(await nameOf(token({ exp: now / 1000 + 60 })), "x:alice");
    // Keys that were good outlive an issuer that is down.
    documents.clear();
    now += 11 * 60_000;
    assert.equal(await nameOf(token({ exp: now / 1000 + 60 })), "x:alice");
  });

  it("of an unresponsive issuer do not delay shutdown", async () => {
    documents.set("/keys", () => undefined);
    const asked = refused(token(), /not initialized/);
    while (!fetched.includes("/keys")) await new Promise((resolve) => setImmediate(resolve));
    life.abort();
    await asked;
    assert.deepEqual(reported, []);
  });

  it("require that the CA verifies the issuer's server", async () => {
    configure({ certificateAuthority: undefined });
    await refused(token(), /not initialized/);
    assert.match(reported[0]!, /certificate/);
  });

  it("may have a discovery document at another URL", async () => {
    const document = documents.get("/.well-known/openid-configuration");
    documents.delete("/.well-known/openid-configuration");
    documents.set("/elsewhere", document);
    configure({ discoveryURL: `${url}/elsewhere` });
    assert.equal(await nameOf(token()), "x:alice");
  });

  it("are not verified with symmetric, weak, encryption or malformed keys", () => {
    const jwk = rsa.publicKey.export({ format: "jwk" });
    const odd: unknown[] = [
      { kty: "oct", k: "c2VjcmV0", alg: "HS256" },
      { ...jwk, use: "enc" },
      { ...jwk, alg: "RSA-OAEP" },
      { ...jwk, n: "AQAB" },
      { kty: "EC", crv: "secp256k1", x: "AA", y: "AA" },
      null,
    ];
    assert.deepEqual(webKeys({ keys: odd }, ["RS256", "HS256", "ES256"]), []);
    const [key, ...more] = webKeys({ keys: [{ ...jwk, kid: "a" }] }, ["RS256"]);
    assert.deepEqual([key?.id, key?.algorithm, more.length], ["a", "RS256", 0]);
    for (const undecodable of ["key", { ...jwk, kid: 5 }]) {
      assert.throws(() => webKeys({ keys: [jwk, undecodable] }, ["RS256"]), /cannot unmarshal/);
    }
  });
});
