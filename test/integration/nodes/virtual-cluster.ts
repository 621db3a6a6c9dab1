import assert from "node:assert/strict";
import {
  type RunningServer,
  startServer,
  type StartOptions,
  VirtualClock,
} from "../../../cmd/keelson/index.ts";

export type Json = any;

export const start = "2030-01-01T00:00:00Z";
export const second = 1_000;

/** A server in virtual time, which the test advances. */
export class VirtualCluster {
  private constructor(
    readonly server: RunningServer,
    readonly clock: VirtualClock,
  ) {}

  static async start(options: StartOptions = {}): Promise<VirtualCluster> {
    const clock = new VirtualClock({ start });
    const common = { clock, scheduler: true, nodes: { count: 2 } };
    const cluster = new VirtualCluster(await startServer({ ...common, ...options }), clock);
    await clock.advance(second);
    return cluster;
  }

  /** Virtual time since the start in seconds. */
  get seconds(): number {
    return (this.clock.now() - Date.parse(start)) / second;
  }

  async request(method: string, path: string, body?: object): Promise<Json> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = { "content-type": type };
    const answer = await this.server.fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  }

  get(path: string): Promise<Json> {
    return this.request("GET", path);
  }

  async create(path: string, object: object): Promise<Json> {
    const made = await this.request("POST", path, object);
    assert.notEqual(made.kind, "Status", JSON.stringify(made));
    await this.clock.settle();
    return made;
  }

  /** Seconds since the start at which the object first satisfies the condition. */
  async when(path: string, isSo: (object: Json) => unknown, withinSeconds: number) {
    for (let passed = 0; passed <= withinSeconds; passed++) {
      if (isSo(await this.get(path))) return this.seconds;
      await this.clock.advance(second);
    }
    return assert.fail(`not within ${withinSeconds} s: ${JSON.stringify(await this.get(path))}`);
  }
}

/** A condition of an object. */
export const condition = (object: Json, type: string): Json =>
  object.status?.conditions?.find((each: Json) => each.type === type);
