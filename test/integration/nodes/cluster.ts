import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { RunningServer } from "../../../cmd/keelson/index.ts";

export type Json = any;

const core = "/api/v1";
const deadlineMs = 120_000;

/** Requests of the tests to a server. */
export class Cluster {
  constructor(readonly server: RunningServer) {}

  async request(method: string, path: string, body?: object): Promise<Json> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await this.server.fetch(path, {
      method,
      headers: { "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  }

  async create(path: string, object: object): Promise<Json> {
    const made = await this.request("POST", path, object);
    assert.notEqual(made.kind, "Status", JSON.stringify(made));
    return made;
  }

  get(path: string): Promise<Json> {
    return this.request("GET", path);
  }

  patch(path: string, body: object): Promise<Json> {
    return this.request("PATCH", path, body);
  }

  delete(path: string): Promise<Json> {
    return this.request("DELETE", path);
  }

  /** Polls the path until its object satisfies the condition. */
  async until(path: string, isThere: (found: Json) => unknown): Promise<Json> {
    const end = performance.now() + deadlineMs;
    for (;;) {
      const found = await this.get(path);
      if (isThere(found)) return found;
      if (performance.now() > end) assert.fail(`never came: ${path} ${JSON.stringify(found)}`);
      await setTimeout(10);
    }
  }

  gone(path: string): Promise<Json> {
    return this.until(path, ({ code }) => code === 404);
  }

  /** Reasons and messages of the Events of an object in order of creation. */
  async events(name: string): Promise<readonly string[]> {
    const field = `fieldSelector=involvedObject.name%3D${name}`;
    const { items } = await this.get(`${core}/events?${field}`);
    return items.map(({ reason, message }: Json) => `${reason}: ${message}`);
  }
}
