import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { kubernetes, StatusError } from "#meta";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import type { Authenticator, PeerCertificate } from "#request";
import { CertificateAuthorities } from "./certificate-authorities.ts";
import { ClientCertificateAuthenticator } from "./client-certificates.ts";
import { mergedAuthenticationInfo } from "./cluster-authentication-info.ts";
import { RequestHeaderAuthenticator } from "./front-proxy.ts";
import { makeChain } from "../../pki/testing.ts";
import { type Sent, sent } from "../testing.ts";
import { UnionAuthenticator } from "../union.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const day = 86_400_000;
const is401 = (error: unknown) => error instanceof StatusError && error.code === 401;

describe("client certificates", () => {
  let now: number;
  const clock = { now: () => now } as any;
  let users: KeyPair;
  let proxies: KeyPair;
  let alice: PeerCertificate;
  let proxy: PeerCertificate;

  async function issue(authority: KeyPair, commonName: string, ...organizations: string[]) {
    const { certificate } = await issueCertificate(authority, {
      commonName,
      organizations,
      usage: "client",
      validDays: 1,
      now: start,
    });
    return { chain: [new X509Certificate(certificate)] };
  }

  before(async () => {
    const validity = { validDays: 10, now: start };
    users = await createAuthority("users", validity);
    // CAs of the same name, which differ only in their keys.
    proxies = await createAuthority("users", validity);
    alice = await issue(users, "alice", "devs", "ops");
    proxy = await issue(proxies, "front-proxy");
  });
  beforeEach(() => {
    now = start;
  });

  function authorities(...pems: readonly string[]): CertificateAuthorities {
    const made = new CertificateAuthorities(clock);
    made.replace(...pems);
    return made;
  }

  describe("of users", () => {
    let trusted: CertificateAuthorities;
    let clients: Authenticator;
    beforeEach(() => {
      trusted = authorities(users.certificate);
      clients = new ClientCertificateAuthenticator({
        authorities: trusted,
        domain: kubernetes,
        readsUid: true,
      });
    });
    const ask = async (certificate: PeerCertificate) => clients.authenticate(sent({ certificate }));

    it("identify the user, the groups and the credential", async () => {
      const digest = createHash("sha256").update(alice.chain[0]!.raw).digest("hex");
      const key = `authentication.${kubernetes.label}/credential-id`;
      assert.deepEqual(await ask(alice), {
        name: "alice",
        uid: "",
        groups: ["devs", "ops"],
        extra: new Map([[key, [`X509SHA256=${digest}`]]]),
      });
    });

    it("are rejected from another CA, and after they expire", async () => {
      await assert.rejects(ask(proxy), is401);
      now = start + day;
      await assert.rejects(ask(alice), is401);
      now = start - day;
      await assert.rejects(ask(alice), is401);
    });

    it("authenticate no user without a common name or without a certificate", async () => {
      assert.equal(await ask(await issue(users, "")), undefined);
      assert.equal(await clients.authenticate(sent({})), undefined);
    });

    it("are verified by the current CAs, even on open connections", async () => {
      assert.ok(await ask(alice));
      trusted.replace(proxies.certificate);
      await assert.rejects(ask(alice), is401);
      assert.throws(() => trusted.replace(users.certificate, "nothing"), /no PEM block/);
      await assert.rejects(ask(alice), is401);
      trusted.replace(`${proxies.certificate}\n${users.certificate}`);
      assert.ok(await ask(alice));
    });

    const client = { usage: "client" } as const;
    for (const [name, parts, isTrusted] of [
      ["different subjects", [{ subject: "ca" }, { subject: "x", ...client }], true],
      ["the subject of their CA", [{ subject: "x" }, { subject: "x", ...client }], true],
      ["empty subjects", [{ subject: "" }, { subject: "", ...client }], true],
      [
        "an intermediate of the same subject",
        [{ subject: "x" }, { subject: "x" }, { subject: "x", ...client }],
        true,
      ],
      ["the usage of servers", [{ subject: "a" }, { subject: "x", usage: "server" }], false],
      [
        "an issuer that is no CA",
        [{ subject: "a" }, { subject: "b", ...client }, { subject: "c", ...client }],
        false,
      ],
      [
        "an expired intermediate",
        [{ subject: "a" }, { subject: "b", until: -day }, { subject: "c", ...client }],
        false,
      ],
      [
        "a path that is too long",
        [{ subject: "a", maxPathLength: 0 }, { subject: "b" }, { subject: "c", ...client }],
        false,
      ],
    ] as const) {
      it(`are ${isTrusted ? "trusted" : "rejected"} with ${name}`, async () => {
        now = Date.now();
        const [root, ...below] = await makeChain(parts);
        trusted.replace(root!.certificate);
        const chain = below.map(({ certificate }) => new X509Certificate(certificate)).toReversed();
        assert.equal(trusted.trusts({ chain }), isTrusted);
      });
    }

    it("are not trusted because of a CA in the client's chain", async () => {
      const root = new X509Certificate(users.certificate);
      const other = new X509Certificate(proxies.certificate);
      const stranger = (await issue(proxies, "alice")).chain[0]!;
      await assert.rejects(ask({ chain: [stranger, root, other] }), is401);
      // A user certificate is not a CA, even if it has signed certificates.
      const self = await issue({ ...users, certificate: users.certificate }, "mallory");
      const below = { chain: [stranger, ...self.chain, root] };
      await assert.rejects(ask(below), is401);
    });
  });

  describe("of a front proxy", () => {
    const headers = {
      username: ["X-Remote-User", "X-Other-User"],
      uid: ["X-Remote-Uid"],
      group: ["X-Remote-Group"],
      extraPrefix: ["X-Remote-Extra-"],
    };
    const said: Sent["headers"] = {
      "x-remote-user": "bob",
      "x-remote-uid": "7",
      "x-remote-group": ["devs", "", "ops"],
      "x-remote-extra-acme.com%2fteam": ["a", "b"],
      "x-remote-extra-odd%zz": "c",
    };
    let union: UnionAuthenticator;
    beforeEach(() => {
      const front = new RequestHeaderAuthenticator({
        authorities: authorities(proxies.certificate),
        allowedNames: ["front-proxy"],
        headers,
      });
      const clients = new ClientCertificateAuthenticator({
        authorities: authorities(users.certificate),
        domain: kubernetes,
        readsUid: true,
      });
      union = new UnionAuthenticator({ authenticators: [front, clients], anonymous: () => true });
    });

    it("return the user", async () => {
      const found = await union.authenticate(sent({ certificate: proxy, headers: said }));
      assert.deepEqual(found, {
        name: "bob",
        uid: "7",
        groups: ["devs", "ops", "system:authenticated"],
        extra: new Map([
          ["acme.com/team", ["a", "b"]],
          ["odd%zz", ["c"]],
        ]),
      });
      const other = { "x-remote-user": "", "x-other-user": ["", "carol"] };
      const second = await union.authenticate(sent({ certificate: proxy, headers: other }));
      assert.equal(second.name, "carol");
    });

    it("have no effect on requests of other clients", async () => {
      assert.equal((await union.authenticate(sent({ headers: said }))).name, "system:anonymous");
      const own = await union.authenticate(sent({ certificate: alice, headers: said }));
      assert.deepEqual([own.name, own.groups[0]], ["alice", "devs"]);
      const misnamed = await issue(proxies, "other");
      const ask = async (certificate: PeerCertificate) =>
        union.authenticate(sent({ certificate, headers: said }));
      await assert.rejects(ask(misnamed), is401);
      // The name that may speak for others, from the authority of plain users.
      const pretender = await issue(users, "front-proxy");
      const plain = await union.authenticate(sent({ certificate: pretender, headers: said }));
      assert.equal(plain.name, "front-proxy");
    });

    it("authenticate no user themselves", async () => {
      await assert.rejects(async () => union.authenticate(sent({ certificate: proxy })), is401);
    });
  });

  it("are published merged with what other servers trust", () => {
    const headers = { username: ["X-User"], uid: [], group: ["X-Group"], extraPrefix: ["X-E-"] };
    const frontProxy = { ca: proxies.certificate, allowedNames: ["p"], headers };
    const trust = { clientCa: users.certificate, frontProxy };
    const fresh = mergedAuthenticationInfo(trust, {}, start) as Record<string, string>;
    assert.equal(fresh["requestheader-username-headers"], '["X-User"]');
    assert.equal(fresh["requestheader-uid-headers"], "[]");
    assert.equal(fresh["requestheader-allowed-names"], '["p"]');
    assert.equal(fresh["client-ca-file"]?.trim(), users.certificate.trim());
    assert.deepEqual(mergedAuthenticationInfo(trust, fresh, start), fresh);
    const theirs = {
      ...fresh,
      "client-ca-file": proxies.certificate,
      "requestheader-allowed-names": "[]",
      "requestheader-group-headers": '["X-Theirs"]',
    };
    const both = mergedAuthenticationInfo(trust, theirs, start) as Record<string, string>;
    assert.equal(both["client-ca-file"]?.match(/BEGIN/g)?.length, 2);
    assert.equal(both["requestheader-allowed-names"], "[]");
    assert.equal(both["requestheader-group-headers"], '["X-Theirs","X-Group"]');
    const later = mergedAuthenticationInfo(trust, theirs, start + 20 * day) as Record<
      string,
      string
    >;
    assert.equal(later["client-ca-file"], "");
  });
});
