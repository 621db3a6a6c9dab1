import assert from "node:assert/strict";
import type { ListOptions } from "../contract.ts";
import { collected, refusal, testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

describe("list", () => {
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
  it("returns matching objects in key order", async () => {
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

  it("returns all chunks of the store without a limit", async () => {
    const value = Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}');
    for (let index = 0; index < 2500; index++) {
      await api.store.create(`/configmaps/ns/n${index}`, value);
    }
    const { items } = await api.list(maps);
    assert.equal((await collected(items)).length, 2500);
    const { next } = await api.list(maps, { limit: 10, fieldSelector: "metadata.name=none" });
    assert.equal(next, undefined);
  });

  it("returns an exact past revision until it is compacted", async () => {
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

  it("rejects invalid list options with kube-apiserver's messages", async () => {
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
    const jobs = api.list("batch/v1/jobs/ns", { fieldSelector: "spec.parallelism=1" });
    assert.equal(
      await refusal(jobs),
      '400 BadRequest field label "spec.parallelism" not supported for Job',
    );
    const slices = api.list("resource.k8s.io/v1/resourceslices", { fieldSelector: "spec.x=1" });
    assert.equal(
      await refusal(slices),
      "400 BadRequest field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x",
    );
  });

  it("pages through one revision while objects change", async () => {
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

  it("returns 410 with an inconsistent continue token once the revision is compacted", async () => {
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
});
