/** What the scenes share: a server, and a store that is filled with copies of one object. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BodyClass } from "../build-body.ts";

type Keelson = typeof import("../../../../cmd/keelson/index.ts");
export type StartOptions = NonNullable<Parameters<Keelson["startServer"]>[0]>;
export type Server = Awaited<ReturnType<Keelson["startServer"]>>;

/** A server and the requests whose longest turns are measured. */
export interface Scene {
  readonly name: string;
  readonly prepare: (start: Keelson["startServer"]) => Promise<PreparedServer>;
  readonly requests: readonly BodyClass[];
  /** Each request is measured in new processes, since only the first answer of a process is work. */
  readonly fresh?: boolean;
}

export interface PreparedServer {
  readonly server: Server;
  /** What `wideVersion` stands for. */
  readonly version?: string;
  /** Ends the server and deletes its files. */
  readonly close?: () => Promise<void>;
}

export const serving: StartOptions = { port: 0, controllers: false };

/** Creates an object; returns its resourceVersion. */
export async function post(server: Server, path: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const response = await server.fetch(path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (response.status !== 201) {
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
  const { metadata } = (await response.json()) as { metadata: { resourceVersion: string } };
  return metadata.resourceVersion;
}

export async function untilServed(server: Server, path: string): Promise<void> {
  while ((await server.fetch(path)).status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const maxBatchBytes = 1_000_000;

/** Copies of a stored object under other names. */
export interface Copies {
  /** Key of the object. */
  readonly key: string;
  /** Texts that name the object in key and value, and what they are in copy `n`. */
  readonly replace: (n: number) => readonly (readonly [from: string, to: string])[];
  readonly count: number;
}

/** A number in names. */
export function digits(n: number): string {
  return `${n}`.padStart(6, "0");
}

/**
 * A server on an LMDB store in which `seed` creates the originals of the copies with a server of its own.
 */
export async function serverWithCopies(
  start: Keelson["startServer"],
  seed: (server: Server) => Promise<void>,
  copies: readonly Copies[],
  options: StartOptions = {},
): Promise<PreparedServer> {
  const directory = mkdtempSync(path.join(tmpdir(), "keelson-stalls-"));
  const storage = { kind: "embedded", directory } as const;
  const first = await start({ ...options, storage, controllers: false });
  await seed(first);
  await first.close();
  await storeCopies(directory, copies);
  const server = await start({ ...serving, ...options, storage });
  const close = async (): Promise<void> => {
    await server.close();
    rmSync(directory, { recursive: true });
  };
  return { server, close };
}

async function storeCopies(directory: string, copies: readonly Copies[]): Promise<void> {
  // Only here, since this loads the sources beside the build that is measured.
  const { openDurableBackend } = await import("../../../../pkg/storage/open.ts");
  await using backend = await openDurableBackend({ directory });
  for (const { key, replace, count } of copies) {
    const { entry } = await backend.get(key);
    if (entry === undefined) throw new Error(`the store has no ${key}`);
    const template = Buffer.from(entry.value).toString("latin1");
    const uid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(template)?.[0] as string;
    const batch = Math.max(1, Math.floor(maxBatchBytes / template.length));
    for (let from = 1; from < count; from += batch) {
      const then = Array.from({ length: Math.min(batch, count - from) }, (_each, n) => {
        const pairs = [...replace(from + n), [uid, uid.slice(0, -6) + digits(from + n)] as const];
        const copy = (text: string): string =>
          pairs.reduce((result, [old, fresh]) => result.replaceAll(old, fresh), text);
        return { put: copy(key), value: Buffer.from(copy(template), "latin1") };
      });
      await backend.txn({ compare: [], then, otherwise: [] });
    }
  }
}
