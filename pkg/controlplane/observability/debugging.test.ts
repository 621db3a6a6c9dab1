import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { createLogger } from "#base";
import { type RunningServer, startServer, type StartOptions } from "../index.ts";

describe("debugging endpoints", () => {
  let server: RunningServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const start = async (options: StartOptions = {}) => {
    server = await startServer(options);
  };
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await server!.fetch(path, init);
    return { status: answer.status, text: await answer.text() };
  };
  const configMaps = "/api/v1/namespaces/default/configmaps";
  const create = (name: string) =>
    ask(configMaps, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ metadata: { name } }),
    });

  it("are served to authorized users only", async () => {
    await start({ tokens: "t,eve,1" });
    const headers = { authorization: "Bearer t" };
    for (const path of ["/debug/cache", "/debug/queues", "/debug/pprof/", "/debug/flags/v"]) {
      const { status, text } = await ask(path, { headers });
      assert.equal(status, 403);
      assert.match(text, new RegExp(`User \\\\"eve\\\\" cannot get path \\\\"${path}\\\\"`));
    }
  });

  it("/debug/cache shows the content of the watch caches", async () => {
    await start({ controllers: false });
    const before = await ask(configMaps);
    assert.equal(before.status, 200);
    await create("a");
    await create("b");
    const leave = new AbortController();
    const { signal } = leave;
    const watch = await server!.fetch(`${configMaps}?watch=1&resourceVersion=0`, { signal });
    const reading = watch.text().catch(() => undefined);
    // A watch counts once it has caught up.
    let found: any;
    do {
      await setImmediate();
      const { text } = await ask("/debug/cache");
      const { collections } = JSON.parse(text) as { collections: { prefix: string }[] };
      found = collections.find(({ prefix }) => prefix === "/configmaps/");
    } while (found?.watchers < 1);
    const listed = JSON.parse((await ask("/api/v1/configmaps")).text) as { items: unknown[] };
    assert.equal(found.objects, listed.items.length);
    assert.ok(found.bytes > 100 && found.from <= found.revision);
    leave.abort();
    await reading;
  });

  it("/debug/queues shows the work queues of the controllers in the process, and the seats", async () => {
    await start();
    // The controllers start once the server is ready.
    for (;;) {
      await setImmediate();
      const { text } = await ask("/debug/queues");
      const { queues, seats } = JSON.parse(text) as { queues: any[]; seats: object };
      assert.deepEqual(seats, { readOnly: 1, mutating: 0 });
      const queue = queues.find(({ name }) => name === "serviceaccount");
      if (queue?.adds > 0) break;
      assert.ok(queue === undefined || queue.depth >= 0);
    }
  });

  it("/debug/flags/v sets the log verbosity", async () => {
    const lines: string[] = [];
    const logger = createLogger({ write: (line) => void lines.push(line) });
    await start({ logger });
    const put = (body: string) => ask("/debug/flags/v", { method: "PUT", body });
    const said = "successfully set klog.logging.verbosity to 3";
    assert.deepEqual(await put("3"), { status: 200, text: said });
    assert.equal(logger.level, 3);
    await ask("/version");
    await setImmediate();
    assert.ok(lines.some((line) => line.includes('URI="/version"')));
    const wrong = await put("loud");
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /^failed set klog.logging.verbosity loud: .*invalid syntax$/);
    assert.equal((await put("9".repeat(100))).status, 413);
    assert.equal((await ask("/debug/flags/v")).status, 406);
    assert.equal(logger.level, 3);
  });

  it("/debug/pprof/profile profiles the CPU, one request at a time", async () => {
    await start();
    assert.match((await ask("/debug/pprof/")).text, /profile/);
    const heap = JSON.parse((await ask("/debug/pprof/heap")).text) as { process: any };
    assert.ok(heap.process.heapUsed > 0);
    const path = "/debug/pprof/profile?seconds=1";
    const [one, two] = await Promise.all([ask(path), ask(path)]);
    assert.deepEqual([one.status, two.status].sort(), [200, 500]);
    const [good, bad] = one.status === 200 ? [one, two] : [two, one];
    assert.ok((JSON.parse(good.text) as { nodes: unknown[] }).nodes.length > 1);
    assert.equal(bad.text, "Could not enable CPU profiling: cpu profiling already in use\n");
    for (const seconds of ["0", "-1", "60", "many", "Infinity"]) {
      assert.equal((await ask(`/debug/pprof/profile?seconds=${seconds}`)).status, 400, seconds);
    }
    assert.equal((await ask("/debug/pprof/unknown")).status, 404);
  });

  it("/debug/pprof/ is not served with profiling disabled", async () => {
    await start({ profiling: false });
    for (const path of ["/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v"]) {
      assert.equal((await ask(path)).status, 404);
    }
    assert.equal((await ask("/debug/cache")).status, 200);
  });

  it("/statusz and /flagz are served as text if their feature gates are enabled", async () => {
    await start();
    assert.equal((await ask("/statusz")).status, 404);
    await server!.close();
    const featureGates = new Map([
      ["ComponentStatusz", "true"],
      ["ComponentFlagz", "true"],
    ]);
    await start({ featureGates, flags: new Map([["v", "2"]]) });
    assert.match(
      (await ask("/statusz")).text,
      /^\nkube-apiserver statusz\nWarning: .*\n\nStarted: /,
    );
    assert.match((await ask("/flagz")).text, /^\nkube-apiserver flags\nWarning: .*\n\nv=2\n$/);
    const { paths } = JSON.parse((await ask("/")).text) as { paths: string[] };
    const shown = ["/flagz", "/statusz", "/livez/etcd", "/readyz/shutdown", "/metrics/slis"];
    assert.deepEqual(
      shown.filter((path) => !paths.includes(path)),
      [],
    );
    const headers = { accept: "application/json" };
    assert.equal((await ask("/statusz", { headers })).status, 406);
  });
});
