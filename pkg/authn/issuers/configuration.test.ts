import assert from "node:assert/strict";
import { ConfigurationFault, kubernetes } from "#meta";
import { InvalidTokenError } from "../tokens/token-authenticator.ts";
import { userOfClaims } from "./claim-mappings.ts";
import { readAuthenticationConfiguration } from "./configuration.ts";

const api = kubernetes.api;
const ownIssuers = ["https://own.example.org"];

function read(jwt: readonly object[], more: object = {}) {
  const head = {
    apiVersion: `apiserver.config.${api}/v1beta1`,
    kind: "AuthenticationConfiguration",
  };
  const text = JSON.stringify({ ...head, jwt, ...more });
  return readAuthenticationConfiguration(text, { domain: kubernetes, ownIssuers });
}

const issuer = { url: "https://issuer.example.org", audiences: ["keelson"] };
const byName = { username: { claim: "sub", prefix: "x:" } };

function entry(changed: object = {}) {
  return { issuer, claimMappings: byName, ...changed };
}

const mapped = (claimMappings: object) => entry({ claimMappings: { ...byName, ...claimMappings } });
const issued = (changed: object) => entry({ issuer: { ...issuer, ...changed } });
const ruled = (...claimValidationRules: object[]) => entry({ claimValidationRules });
const userRuled = (...userValidationRules: object[]) => entry({ userValidationRules });

describe("an AuthenticationConfiguration", () => {
  it("can be YAML; all fields are optional", () => {
    const text = `apiVersion: apiserver.config.${api}/v1\nkind: AuthenticationConfiguration\n`;
    const options = { domain: kubernetes, ownIssuers };
    const anonymous = "anonymous:\n  enabled: true\n  conditions:\n  - path: /livez\n";
    assert.deepEqual(readAuthenticationConfiguration(text, options), {
      issuers: [],
      anonymous: undefined,
    });
    assert.deepEqual(readAuthenticationConfiguration(text + anonymous, options).anonymous, {
      enabled: true,
      paths: ["/livez"],
    });
  });

  const url = "jwt[0].issuer.url";
  const other = issued({ url: "https://x.org" });
  const expression = (text: string) => ({ username: { expression: text } });
  const refused: readonly (readonly [string, readonly object[], string])[] = [
    ["an unknown field", [{ ...entry(), extra: 1 }], 'unknown field "jwt[0].extra"'],
    ["no URL", [issued({ url: "" })], `${url}: Required value`],
    ["plain HTTP", [issued({ url: "http://x.org" })], "URL scheme must be https"],
    ["a password", [issued({ url: "https://a:b@x.org" })], "must not contain a username"],
    ["a query", [issued({ url: "https://x.org?a" })], "must not contain a query"],
    ["a fragment", [issued({ url: "https://x.org#a" })], "must not contain a fragment"],
    ["our own issuer", [issued({ url: ownIssuers[0] })], "service account tokens"],
    ["an issuer twice", [entry(), entry()], 'jwt[1].issuer.url: Duplicate value: "https://issuer'],
    ["discovery at the issuer", [issued({ discoveryURL: `${issuer.url}/` })], "must be different"],
    ["no certificates", [issued({ certificateAuthority: "x" })], "must hold certificates"],
    ["an egress selector", [issued({ egressSelectorType: "cluster" })], "not supported"],
    ["no audience", [issued({ audiences: [] })], "at least one audience"],
    ["an empty audience", [issued({ audiences: [""] })], "audiences[0]: Required value"],
    ["many audiences", [issued({ audiences: ["a", "b"] })], "must be MatchAny for multiple"],
    ["too many", Array.from({ length: 65 }, () => entry()), "must have at most 64 items"],
    ["no user name", [entry({ claimMappings: {} })], "username: Required value: claim or exp"],
    ["no prefix", [mapped({ groups: { claim: "g" } })], "groups.prefix: Required value"],
    ["both", [mapped({ uid: { claim: "a", expression: "b" } })], "can't both be set"],
    ["wrong CEL", [mapped(expression("claims.sub +"))], "expression: Invalid value"],
    ["an unknown variable", [mapped(expression("user.username"))], "undeclared reference"],
    ["an unowned address", [mapped(expression("claims.email"))], "email_verified must be used"],
    ["the same address", [mapped(expression("claims['email']"))], "email_verified must be used"],
    ["a bare key", [mapped({ extra: [{ key: "a", valueExpression: "''" }] })], "domain-prefixed"],
    ["our key", [mapped({ extra: [{ key: `a.${api}/b`, valueExpression: "''" }] })], "reserved"],
    ["a large key", [mapped({ extra: [{ key: "a.b/C", valueExpression: "''" }] })], "lowercase"],
    ["no rule", [ruled({})], "claimValidationRules[0]: Required value: claim or expression"],
    ["two rules in one", [ruled({ claim: "a", expression: "b" })], "can't both be set"],
    ["a rule twice", [ruled({ claim: "a" }, { claim: "a" })], "[1].claim: Duplicate value"],
    ["a text as rule", [ruled({ expression: "claims.a" })], "must evaluate to bool"],
    ["no user rule", [userRuled({})], "userValidationRules[0].expression: Required value"],
    ["an unknown part", [userRuled({ expression: "user.name == ''" })], "undefined field"],
  ];
  for (const [what, jwt, message] of refused) {
    it(`is rejected with ${what}`, () => {
      assert.throws(
        () => read(jwt),
        (error: unknown) => {
          assert.ok(error instanceof ConfigurationFault);
          assert.ok(error.message.includes(message), error.message);
          return true;
        },
      );
    });
  }

  it("reports all errors at once, and other kinds", () => {
    assert.throws(() => read([issued({ url: "" }), other, other]), /Required.*; .*Duplicate/s);
    assert.throws(() => read([], { kind: "Config" }), /found .* kind "Config"/);
    assert.throws(() => read([], { anonymous: { conditions: [{ path: "/" }] } }), /enabled/);
  });
});

describe("users from claims", () => {
  function user(claims: object, changed: object = {}) {
    const [options] = read([entry(changed)]).issuers;
    return userOfClaims(claims as Record<string, unknown>, options!, kubernetes);
  }
  const refused = (claims: object, changed: object, message: RegExp) =>
    assert.throws(
      () => user(claims, changed),
      (error: unknown) => {
        assert.ok(error instanceof InvalidTokenError);
        assert.match(error.message, message);
        return true;
      },
    );

  it("have names and groups from claims, with prefixes", () => {
    const groups = { claim: "roles", prefix: "g:" };
    const claimMappings = { ...byName, groups, uid: { claim: "id" } };
    const found = user({ sub: "a", roles: ["b", "c"], id: "7" }, { claimMappings });
    assert.deepEqual(found, { name: "x:a", uid: "7", groups: ["g:b", "g:c"], extra: new Map() });
    assert.deepEqual(user({ sub: "a", roles: "b", id: "7" }, { claimMappings }).groups, ["g:b"]);
    assert.deepEqual(user({ sub: "a", id: "7" }, { claimMappings }).groups, []);
    refused({ sub: "a", roles: [1], id: "7" }, { claimMappings }, /^oidc: parse groups claim/);
    refused({ sub: 1 }, {}, /^oidc: parse username claims "sub"/);
    refused({}, {}, /claim not present$/);
  });

  it("cannot get names from claims on Object.prototype", () => {
    const claimMappings = { username: { claim: "constructor", prefix: "" } };
    refused({ sub: "a" }, { claimMappings }, /claim not present$/);
  });

  it("require a verified email address", () => {
    const claimMappings = { username: { claim: "email", prefix: "" } };
    assert.equal(user({ email: "a@b" }, { claimMappings }).name, "a@b");
    refused({ email: "a@b", email_verified: false }, { claimMappings }, /email not verified/);
    refused({ email: "a@b", email_verified: "true" }, { claimMappings }, /email_verified/);
  });

  it("can be mapped by CEL expressions", () => {
    const claimMappings = {
      username: { expression: "'x:' + claims.sub" },
      groups: { expression: "claims.roles.split(',')" },
      uid: { expression: "string(claims.id)" },
      extra: [
        { key: "acme.com/team", valueExpression: "claims.team" },
        { key: "acme.com/none", valueExpression: "claims.?absent.orValue(null)" },
      ],
    };
    const claims = { sub: "a", roles: "b,c,", id: 7, team: ["d", ""], jti: "t1" };
    const { extra, ...rest } = user(claims, { claimMappings });
    assert.deepEqual(rest, { name: "x:a", uid: "7", groups: ["b", "c"] });
    assert.deepEqual(Object.fromEntries(extra), {
      "acme.com/team": ["d"],
      [`authentication.${kubernetes.label}/credential-id`]: ["JTI=t1"],
    });
    refused(
      { sub: "a" },
      { claimMappings },
      /error evaluating group claim expression: no such key/,
    );
    const number = { username: { expression: "claims.sub" } };
    refused(
      { sub: 1 },
      { claimMappings: number },
      /username claim expression must return a string/,
    );
    const groups = { ...byName, groups: { expression: "claims.roles" } };
    refused({ sub: "a", roles: [1] }, { claimMappings: groups }, /a string or a list of strings/);
  });

  it("obey the validation rules of claims and users", () => {
    const rules = {
      claimValidationRules: [
        { claim: "hd", requiredValue: "acme" },
        { expression: "claims.level > 2", message: "too low" },
      ],
      userValidationRules: [
        { expression: "!user.username.startsWith('x:system:')", message: "reserved" },
      ],
    };
    assert.equal(user({ sub: "a", hd: "acme", level: 3 }, rules).name, "x:a");
    refused({ sub: "a", level: 3 }, rules, /required claim hd not present/);
    refused({ sub: "a", hd: "evil", level: 3 }, rules, /hd value does not match. Got = evil/);
    refused({ sub: "a", hd: "acme", level: 2 }, rules, /'claims.level > 2' failed: too low$/);
    refused({ sub: "a", hd: "acme", level: "9" }, rules, /error evaluating claim validation/);
    refused({ sub: "system:a", hd: "acme", level: 3 }, rules, /failed: reserved$/);
  });
});
