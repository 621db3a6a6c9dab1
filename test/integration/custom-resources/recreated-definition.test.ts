/** A definition that is deleted and recreated with another schema while clients write and watch. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const name = "shifts.example.com";
const shifts = "/apis/example.com/v1/namespaces/default/shifts";

/** For each schema an object that only it accepts and produces. */
const schemas = [
  { type: "integer", default: 1 },
  { type: "string", default: "small" },
] as const;

function definition(turn: number): object {
  const size = schemas[turn % 2];
  const properties = { size, turn: { type: "integer", enum: [turn], default: turn } };
  return customResourceDefinition(
    { plural: "shifts", kind: "Shift" },
    { schema: { type: "object", properties } },
  );
}

/** Whether an object conforms to one of the schemas. */
function isWhole({ size, turn }: { readonly size?: unknown; readonly turn?: unknown }): boolean {
  return typeof turn === "number" && size === schemas[turn % 2]?.default;
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

describe("a definition recreated with another schema", () => {
  let server: RunningServer;
  before(async () => void (server = await startServer({ controllers: false })));
  after(() => server.close());

  async function send(method: string, path: string, body?: object): Promise<[number, any]> {
    const patch = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = { "content-type": patch };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const answer = await server.fetch(path, init);
    const text = await answer.text();
    return [answer.status, text.startsWith("{") ? JSON.parse(text) : { message: text }];
  }

  it("never serves objects of the previous schema", async () => {
    const over = new AbortController();
    const odd: unknown[] = [];
    const told = { made: 0, refused: 0, seen: 0 };
    /** Errors that clients must expect: not found, terminating, conflict, or not served yet. */
    const expected = new Set([404, 403, 409, 429]);
    const note = ([code, body]: [number, any]): void => {
      const objects = body.items ?? [body];
      if (code < 300) {
        told.made += objects.length;
        odd.push(...objects.filter((each: any) => each.kind === "Shift" && !isWhole(each)));
      } else if (expected.has(code)) told.refused += 1;
      else odd.push([code, body.message]);
    };
    const until = async (work: (count: number) => Promise<void>): Promise<void> => {
      for (let count = 0; !over.signal.aborted; count++) {
        await work(count);
        await pause();
      }
    };
    const typeMeta = { apiVersion: "example.com/v1", kind: "Shift" };
    const writer = (prefix: string): Promise<void> =>
      until(async (count) => {
        const metadata = { name: `${prefix}${count % 20}` };
        note(await send("POST", shifts, { ...typeMeta, metadata }));
        const labels = { count: String(count) };
        note(await send("PATCH", `${shifts}/${metadata.name}`, { metadata: { labels } }));
        if (count % 3 === 0) note(await send("DELETE", `${shifts}/${metadata.name}`));
      });
    const reader = (): Promise<void> => until(async () => note(await send("GET", shifts)));
    const watcher = (): Promise<void> =>
      until(async () => {
        const answer = await server.fetch(`${shifts}?watch=1&resourceVersion=0&timeoutSeconds=2`);
        const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("{"));
        const events = lines.map((line) => JSON.parse(line));
        told.seen += events.length;
        const objects = events.filter(({ type }) => type !== "ERROR").map(({ object }) => object);
        odd.push(...objects.filter((each) => each.kind === "Shift" && !isWhole(each)));
        const turns = new Set(objects.map(({ turn }) => turn));
        if (turns.size > 1) odd.push(["a watch went on", ...turns]);
      });
    const load = [writer("a"), writer("b"), reader(), watcher()];
    for (let turn = 0; turn < 6; turn++) {
      const [code] = await send("POST", definitions, definition(turn));
      assert.equal(code, 201);
      const before = told.made;
      while (told.made < before + 60) await pause();
      const [, list] = await send("GET", shifts);
      assert.deepEqual([...new Set(list.items.map((each: any) => each.turn))], [turn]);
      await send("DELETE", `${definitions}/${name}`);
      while ((await send("GET", `${definitions}/${name}`))[0] !== 404) await pause();
    }
    over.abort();
    await Promise.all(load);
    assert.deepEqual(odd, []);
    assert.ok(told.refused > 0 && told.seen > 0, JSON.stringify(told));
  });
});
