import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { type Client, Informers } from "#client";
import { seededRandom } from "#base";
import { StatusError } from "#meta";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import type { Credentials, User } from "#request";
import { contextOn } from "../controllers/testing.ts";
import { testRegistry, TestClock } from "../registry/testing.ts";
import { DelegatedTrust } from "./delegated-trust.ts";

const configMaps = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
const user: User = { name: "jo", uid: "", groups: ["users"], extra: new Map() };

describe("DelegatedTrust", () => {
  const life = new AbortController();
  const clock = new TestClock();
  let authority: KeyPair;
  let client: Client;
  let informers: Informers;
  let trust: DelegatedTrust;
  let reviews: object[];
  let isAllowed: boolean;

  before(async () => {
    const validity = { validDays: 1, now: clock.now() };
    authority = await createAuthority("front", validity);
    const test = await testRegistry();
    const report = () => undefined;
    const parts = { ...test, clock, signal: life.signal, report };
    const context = contextOn(parts);
    reviews = [];
    const namespaces = {
      ...configMaps,
      plural: "namespaces",
      kind: "Namespace",
      namespaced: false,
    };
    await context.client.create(namespaces, { metadata: { name: "kube-system" } });
    client = new Proxy(context.client, {
      get: (target, property) => {
        if (property !== "create") return Reflect.get(target, property) as unknown;
        return (handle: { readonly plural: string }, object: { readonly spec: object }) => {
          if (handle.plural === "configmaps") return target.create(configMaps, object as never);
          reviews.push(object.spec);
          return Promise.resolve({ ...object, status: { allowed: isAllowed } });
        };
      },
    });
    informers = new Informers({ ...parts, client, random: seededRandom(1) });
    trust = new DelegatedTrust({ client, informers, clock });
    const known = new Promise<string>((resolve) => trust.follow(resolve));
    await client.create(configMaps, {
      metadata: { namespace: "kube-system", name: "extension-apiserver-authentication" },
      data: {
        "requestheader-client-ca-file": authority.certificate,
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
      },
    } as never);
    assert.equal(await known, authority.certificate);
  });
  after(async () => {
    life.abort();
    await informers.ended();
  });

  async function credentials(commonName: string, by = authority): Promise<Credentials> {
    const validity = { validDays: 1, now: clock.now() };
    const made = await issueCertificate(by, { commonName, usage: "client", ...validity });
    const headers = new Map([
      ["x-remote-user", ["jo"]],
      ["x-remote-group", ["users"]],
    ]);
    const chain = [new X509Certificate(made.certificate), new X509Certificate(by.certificate)];
    return {
      authorization: [],
      certificate: { chain },
      headersBelow: (prefix) => new Map([...headers].filter(([name]) => name.startsWith(prefix))),
      path: "/",
    };
  }

  it("trusts the user headers with a certificate of the front proxy", async () => {
    const found = trust.authenticate(await credentials("front-proxy-client"));
    assert.deepEqual([found?.name, found?.groups], ["jo", ["users", "system:authenticated"]]);
  });

  it("rejects other common names, other CAs, and connections without a certificate", async () => {
    const other = await createAuthority("front", { validDays: 1, now: clock.now() });
    const isRefused = (error: unknown) => error instanceof StatusError && error.code === 401;
    const wrongName = await credentials("admin");
    const wrongAuthority = await credentials("front-proxy-client", other);
    assert.throws(() => trust.authenticate(wrongName), isRefused);
    assert.throws(() => trust.authenticate(wrongAuthority), isRefused);
    const { certificate: _certificate, ...rest } = wrongName;
    assert.equal(trust.authenticate({ ...rest, certificate: undefined }), undefined);
  });

  it("authorizes by SubjectAccessReview, cached for ten seconds", async () => {
    const attributes = { nonResourceAttributes: { path: "/apis", verb: "get" } };
    isAllowed = false;
    assert.equal(await trust.isAllowed(user, attributes), false);
    const spec = { user: "jo", uid: "", groups: ["users"], extra: {}, ...attributes };
    assert.deepEqual(reviews, [spec]);
    isAllowed = true;
    assert.equal(await trust.isAllowed(user, attributes), false);
    clock.advance(10_001);
    assert.equal(await trust.isAllowed(user, attributes), true);
    assert.equal(reviews.length, 2);
  });
});
