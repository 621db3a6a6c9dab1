import assert from "node:assert/strict";
import { kubernetes, StatusError } from "#meta";
import type { Authorizer, User } from "#request";
import type { Exchange } from "../../transport/exchange.ts";
import { actingUser } from "./impersonated-user.ts";

describe("impersonation", () => {
  const admin: User = { name: "admin", uid: "", groups: ["g"], extra: new Map() };
  let authorized: string[];
  let denied: string | undefined;
  let response: string | undefined;

  beforeEach(() => {
    authorized = [];
    denied = undefined;
    response = undefined;
  });

  const authorizer: Authorizer = {
    authorize: async ({ user, request }) => {
      const { verb, group, resource, subresource, namespace, name } = request;
      const what = [group, resource, subresource, namespace, name].filter(Boolean).join(" ");
      assert.deepEqual([user, verb], [admin, "impersonate"]);
      authorized.push(what);
      return { verdict: what === denied ? "no-opinion" : "allow", reason: "" };
    },
  };

  async function act(headers: Readonly<Record<string, string | readonly string[]>>) {
    const exchange = {
      headersBelow: (prefix: string) =>
        new Map(
          Object.entries(headers)
            .filter(([name]) => name.startsWith(prefix))
            .map(([name, values]) => [name, [values].flat()]),
        ),
      header: () => undefined,
      response: {
        start: (status: number) => void (response = String(status)),
        end: (chunk: Uint8Array) => void (response += ` ${Buffer.from(chunk).toString("utf8")}`),
      },
    } as unknown as Exchange;
    return actingUser(admin, { exchange, path: "/api" }, { authorizer, domain: kubernetes });
  }

  it("ignores other headers and empty values", async () => {
    assert.equal(await act({}), admin);
    assert.equal(await act({ "x-impersonate-user": "eve", "impersonate-userx": "eve" }), admin);
    assert.equal(await act({ "impersonate-user": "", "impersonate-uid": "" }), admin);
    assert.deepEqual(authorized, []);
  });

  it("authorizes every part in order", async () => {
    const acting = await act({
      "impersonate-user": ["bob", "eve"],
      "impersonate-uid": "7",
      "impersonate-group": ["a", "b"],
      "impersonate-extra-acme.com%2fteam": ["x", "y"],
      "impersonate-extra-scopes": "z",
    });
    const own = `authentication.${kubernetes.api}`;
    assert.deepEqual(authorized, [
      "users bob",
      "groups a",
      "groups b",
      `${own} userextras acme.com/team x`,
      `${own} userextras acme.com/team y`,
      `${own} userextras scopes z`,
      `${own} uids 7`,
    ]);
    assert.deepEqual(acting, {
      name: "bob",
      uid: "7",
      groups: ["a", "b", "system:authenticated"],
      extra: new Map([
        ["acme.com/team", ["x", "y"]],
        ["scopes", ["z"]],
      ]),
    });
  });

  it("decodes percent escapes in extra keys, and keeps malformed ones", async () => {
    const headers = { "impersonate-extra-%41b": "1", "impersonate-extra-a%zz": "2" };
    const acting = await act({ "impersonate-user": "bob", ...headers });
    assert.deepEqual([...acting!.extra.keys()], ["Ab", "a%zz"]);
  });

  it("is rejected with 403 at the first forbidden part, such as system:masters", async () => {
    denied = "groups system:masters";
    const groups = ["a", "system:masters", "b"];
    await assert.rejects(
      act({ "impersonate-user": "bob", "impersonate-group": groups }),
      (error: unknown) => error instanceof StatusError && error.code === 403,
    );
    assert.deepEqual(authorized.at(-1), denied);
  });

  it("adds the implied groups of service accounts and the anonymous user", async () => {
    const account = await act({ "impersonate-user": "system:serviceaccount:ns:app" });
    assert.deepEqual(authorized, ["serviceaccounts ns app"]);
    assert.deepEqual(account?.groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:ns",
      "system:authenticated",
    ]);
    const anonymous = await act({ "impersonate-user": "system:anonymous" });
    assert.deepEqual(anonymous?.groups, ["system:unauthenticated"]);
    for (const name of ["system:serviceaccount:ns", "system:serviceaccount:a:b:c"]) {
      authorized = [];
      assert.deepEqual((await act({ "impersonate-user": name }))?.groups, ["system:authenticated"]);
      assert.deepEqual(authorized, [`users ${name}`]);
    }
  });

  for (const header of ["impersonate-group", "impersonate-uid", "impersonate-extra-a"]) {
    it(`is rejected with 500 if ${header} has no user`, async () => {
      assert.equal(await act({ [header]: "x" }), undefined);
      assert.match(response!, /^500 .*without impersonating a user/s);
      assert.deepEqual(authorized, []);
    });
  }
});
