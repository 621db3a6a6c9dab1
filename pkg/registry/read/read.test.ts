import assert from "node:assert/strict";
import type { ItemEvent, ListOptions, WatchOptions } from "../contract.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { collected, refusal, testRegistry, type TestRegistry } from "../testing.ts";
import { domainOf } from "#meta";

const maps = "v1/configmaps/ns";

/** `ADDED a@7`, `BOOKMARK @9 end`, `ERROR 410 Expired`. */
function told(event: ItemEvent): string {
  switch (event.type) {
    case "BOOKMARK":
      return `BOOKMARK @${event.revision}${event.initialEventsEnd ? " end" : ""}`;
    case "ERROR":
      return `ERROR ${event.status.code} ${event.status.reason}`;
    default: {
      const { name, resourceVersion } = event.item.object.metadata;
      return `${event.type} ${name}@${resourceVersion}`;
    }
  }
}

describe("registry reads", () => {
  let api: TestRegistry;
  beforeEach(async () => {
    api = await testRegistry({ namespaces: ["ns", "other"] });
  });

  const fill = async (names: string): Promise<void> => {
    for (const name of names) {
      const labels = { odd: "aceg".includes(name) ? "y" : "n" };
      await api.post(maps, { metadata: { name, labels }, data: { k: name } });
    }
  };

  it("gets by version", async () => {
    const { item } = await api.post(maps, { metadata: { name: "a" } });
    for (const version of ["", "0", "1", String(item.revision)]) {
      assert.equal((await api.get(`${maps}/a`, version)).revision, item.revision);
    }
    assert.equal(
      await refusal(api.get(`${maps}/a`, "abc")),
      '500 - resourceVersion: Invalid value: "abc": ' +
        'strconv.ParseUint: parsing "abc": invalid syntax',
    );
    assert.match(await refusal(api.get(`${maps}/a`, "999999999")), /^504 Timeout/);
    assert.match(await refusal(api.get(`${maps}/zz`)), /^404/);
  });

  it("lists what matches, in order of key", async () => {
    await fill("gcaebdf");
    await api.post("v1/configmaps/other", { metadata: { name: "a", labels: { odd: "y" } } });
    const cases: readonly (readonly [string, Partial<ListOptions>, string])[] = [
      [maps, {}, "abcdefg"],
      [maps, { labelSelector: "odd=y" }, "aceg"],
      [maps, { labelSelector: "odd in (n),odd" }, "bdf"],
      [maps, { fieldSelector: "metadata.name=c" }, "c"],
      [maps, { fieldSelector: "metadata.name=c", labelSelector: "odd=n" }, ""],
      [maps, { fieldSelector: "metadata.name!=c,metadata.name!=d" }, "abefg"],
      [maps, { fieldSelector: "metadata.name=c,metadata.name=d" }, ""],
      [maps, { fieldSelector: "metadata.namespace=other" }, ""],
      ["v1/configmaps", {}, "abcdefga"],
      ["v1/configmaps", { fieldSelector: "metadata.namespace=other" }, "a"],
      ["v1/configmaps", { fieldSelector: "metadata.name=a" }, "aa"],
      [maps, { resourceVersion: "0", limit: 2 }, "abcdefg"],
      [maps, { limit: 2 }, "ab"],
      [maps, { limit: 2, labelSelector: "odd=n" }, "bd"],
      [maps, { limit: -1 }, "abcdefg"],
      ["v1/configmaps/nowhere", {}, ""],
    ];
    for (const [path, options, wanted] of cases) {
      assert.equal((await api.names(path, options)).join(""), wanted, JSON.stringify(options));
    }
  });

  it("lists more than one page of the store without a limit", async () => {
    const value = Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}');
    for (let index = 0; index < 2500; index++) {
      await api.store.create(`/configmaps/ns/n${index}`, value);
    }
    const { items } = await api.list(maps);
    assert.equal((await collected(items)).length, 2500);
    const { next } = await api.list(maps, { limit: 10, fieldSelector: "metadata.name=none" });
    assert.equal(next, undefined);
  });

  it("lists a moment of the past", async () => {
    await fill("a");
    const then = await api.store.revision();
    await fill("b");
    await api.remove(`${maps}/a`);
    const exact = { resourceVersion: String(then), resourceVersionMatch: "Exact" };
    const at = await api.list(maps, exact);
    assert.equal(at.revision, then);
    assert.deepEqual(await api.names(maps, exact), ["a"]);
    assert.deepEqual(await api.names(maps, { ...exact, fieldSelector: "metadata.name=a" }), ["a"]);
    assert.deepEqual(await api.names(maps, { resourceVersion: String(then) }), ["b"]);
    assert.deepEqual(await api.names(maps, { resourceVersion: String(then), limit: 5 }), ["a"]);
    const least = { resourceVersion: String(then), resourceVersionMatch: "NotOlderThan", limit: 5 };
    assert.deepEqual(await api.names(maps, least), ["b"]);
    await api.backend.compact(await api.store.revision());
    assert.match(await refusal(api.list(maps, exact)), /^410 Expired/);
  });

  it("refuses list options", async () => {
    const invalid = '^422 Invalid ListOptions.meta.k8s.io "" is invalid: ';
    const cases: readonly (readonly [Partial<ListOptions>, string])[] = [
      [
        { resourceVersionMatch: "Exact" },
        `${invalid}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless reso`,
      ],
      [
        { resourceVersion: "5", resourceVersionMatch: "Newest" },
        `Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""$`,
      ],
      [
        { resourceVersion: "0", resourceVersionMatch: "Exact" },
        'resourceVersionMatch "exact" is forbidden for resourceVersion "0"$',
      ],
      [{ sendInitialEvents: true }, "sendInitialEvents: Forbidden: sendInitialEvents is forbidde"],
      [{ resourceVersion: "abc" }, "^400 BadRequest invalid resource version: resourceVersion: I"],
      [{ resourceVersion: "999999999" }, "^504 Timeout .*Too large resource version"],
      [
        { resourceVersion: "999999999", resourceVersionMatch: "Exact" },
        "^504 Timeout .*Too large resource version: 999999999",
      ],
      [{ continueToken: "garbage" }, "^400 BadRequest"],
      [{ continueToken: "Z2FyYmFnZQ" }, "^400 BadRequest"],
      [{ labelSelector: "a===b" }, "^400 BadRequest unable to parse requirement: found '=', expe"],
      [
        { fieldSelector: "data.k=v" },
        '^400 BadRequest "data.k" is not a known field selector: only "metadata.name", "metadata.n',
      ],
    ];
    for (const [options, wanted] of cases) {
      assert.match(await refusal(api.list(maps, options)), new RegExp(wanted));
    }
    assert.equal(
      await refusal(api.list("v1/namespaces", { fieldSelector: "name=x" })),
      "400 BadRequest field label not supported: name",
    );
  });

  it("pages through one moment while objects change", async () => {
    await fill("abcdefg");
    const first = await api.list(maps, { limit: 3 });
    assert.equal(first.next?.remaining, 4);
    const continueToken = first.next?.continueToken ?? "";
    await api.remove(`${maps}/d`);
    await api.post(maps, { metadata: { name: "cc" } });
    assert.deepEqual(await api.names(maps, { limit: 3, continueToken }), ["d", "e", "f"]);
    const second = await api.list(maps, { limit: 3, continueToken });
    assert.equal(second.revision, first.revision);
    assert.equal(second.next?.remaining, 1);
    assert.deepEqual(await api.names(maps, { continueToken }), ["d", "e", "f", "g"]);
    const late = api.list(maps, { continueToken, resourceVersion: String(first.revision) });
    assert.match(await refusal(late), /specifying resource version is not allowed when using con/);
    assert.equal((await api.list(maps, { limit: 8 })).next, undefined);
    const odd = await api.list(maps, { limit: 2, labelSelector: "odd=y" });
    assert.equal(odd.next?.remaining, undefined);
    assert.notEqual(odd.next?.continueToken, undefined);
  });

  it("goes on inconsistently when the moment is gone", async () => {
    await fill("abcd");
    const first = await api.list(maps, { limit: 2 });
    const continueToken = first.next?.continueToken ?? "";
    await fill("ef");
    await api.backend.compact(await api.store.revision());
    const error = await api.list(maps, { limit: 2, continueToken }).catch((fault) => fault);
    assert.equal(error.status.code, 410);
    assert.equal(error.status.reason, "Expired");
    const renewed: string = error.status.metadata.continue;
    assert.deepEqual(await api.names(maps, { limit: 2, continueToken: renewed }), ["c", "d"]);
    const on = await api.list(maps, { limit: 2, continueToken: renewed });
    const last = { limit: 2, continueToken: on.next?.continueToken ?? "" };
    assert.deepEqual(await api.names(maps, last), ["e", "f"]);
  });

  it("makes continue tokens that Kubernetes reads", () => {
    const domain = domainOf();
    const token = encodeContinue({ revision: 7, after: "ns/a" }, domain);
    assert.equal(
      Buffer.from(token, "base64url").toString(),
      '{"v":"meta.k8s.io/v1","rv":7,"start":"ns/a\\u0000"}',
    );
    assert.deepEqual(decodeContinue(token, domain), { revision: 7, after: "ns/a" });
    const forged = Buffer.from('{"v":"meta.k8s.io/v1","rv":7,"start":"../secrets/ns/a\\u0000"}');
    assert.throws(() => decodeContinue(forged.toString("base64url"), domain), /malformed/);
  });

  /** The first `count` events of a watch. */
  const seen = async (
    path: string,
    options: Partial<WatchOptions>,
    count: number,
  ): Promise<string[]> => {
    const events: string[] = [];
    if (count === 0) return events;
    for await (const event of api.watch(path, options)) {
      events.push(told(event));
      if (events.length === count || event.type === "ERROR") break;
    }
    return events;
  };

  it("watches from a version; selectors turn changes into arrivals and departures", async () => {
    const from = String(await api.store.revision());
    const x = `${maps}/x`;
    const labelled = (app: string, n: string) => ({ metadata: { labels: { app } }, data: { n } });
    const made = await api.post(maps, { metadata: { name: "x", labels: { app: "web" } } });
    const r = made.item.revision;
    await api.patch(x, labelled("web", "2"));
    await api.patch(x, labelled("db", "3"));
    await api.patch(x, labelled("db", "4"));
    await api.patch(x, labelled("web", "5"));
    await api.remove(x);
    const at = (step: number) => `x@${r + step}`;
    assert.deepEqual(await seen(maps, { resourceVersion: from }, 6), [
      `ADDED ${at(0)}`,
      `MODIFIED ${at(1)}`,
      `MODIFIED ${at(2)}`,
      `MODIFIED ${at(3)}`,
      `MODIFIED ${at(4)}`,
      `DELETED ${at(5)}`,
    ]);
    assert.deepEqual(await seen(maps, { resourceVersion: from, labelSelector: "app=web" }, 5), [
      `ADDED ${at(0)}`,
      `MODIFIED ${at(1)}`,
      `DELETED ${at(2)}`,
      `ADDED ${at(4)}`,
      `DELETED ${at(5)}`,
    ]);
    const web = { resourceVersion: from, labelSelector: "app=web" };
    for await (const event of api.watch(maps, web)) {
      if (event.type !== "DELETED") continue;
      assert.equal(event.item.object.data.n, "2");
      break;
    }
  });

  it("begins with what is there", async () => {
    await fill("ab");
    const b = await api.store.revision();
    const initial = [`ADDED a@${b - 1}`, `ADDED b@${b}`];
    const end = `BOOKMARK @${b} end`;
    const streaming = {
      sendInitialEvents: true,
      resourceVersionMatch: "NotOlderThan",
      allowBookmarks: true,
    };
    assert.deepEqual(await seen(maps, {}, 2), initial);
    assert.deepEqual(await seen(maps, { resourceVersion: "0" }, 2), initial);
    const zero = { resourceVersion: "0", allowBookmarks: true };
    assert.deepEqual(await seen(maps, zero, 3), [...initial, end]);
    assert.deepEqual(await seen(maps, streaming, 3), [...initial, end]);
    assert.deepEqual(await seen(maps, { ...streaming, fieldSelector: "metadata.name=b" }, 2), [
      initial[1],
      end,
    ]);
    const later = { ...streaming, resourceVersion: "999999999" };
    assert.deepEqual(await seen(maps, later, 1), ["ERROR 504 Timeout"]);
  });

  it("tells of a version that is gone by an event", async () => {
    await fill("abc");
    await api.backend.compact(await api.store.revision());
    assert.deepEqual(await seen(maps, { resourceVersion: "1" }, 1), ["ERROR 410 Expired"]);
  });

  it("refuses watch options at once", async () => {
    const cases: readonly (readonly [Partial<WatchOptions>, RegExp])[] = [
      [{ resourceVersion: "abc" }, /^500 - resourceVersion: Invalid value: "abc"/],
      [{ resourceVersionMatch: "NotOlderThan" }, /is forbidden for watch unless sendInitialEvents/],
      [{ sendInitialEvents: true }, /sendInitialEvents requires setting resourceVersionMatch to /],
      [{ labelSelector: "a===" }, /^400/],
      [{ fieldSelector: "data=x" }, /^400/],
    ];
    for (const [options, wanted] of cases) {
      assert.match(await refusal(() => api.watch(maps, options)), wanted);
    }
  });
});
