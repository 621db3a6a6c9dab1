/**
 * Copies of bootstrap objects. The first server of a process with default options creates them one by
 * one; servers that start later in an empty store store the same, with uids and times of their own.
 */
import { randomUUID } from "node:crypto";
import { parseJsonText } from "#base";
import { prefixEnd, type WriteOperation } from "#storage";
import type { Assembly } from "../start/assemble.ts";

type CopyContext = Pick<
  Assembly,
  "clock" | "hasDefaultOptions" | "inherited" | "storage" | "storageRoot"
>;

/** A stored object as JSON, in pieces: what differs between servers stands between them. */
interface Template {
  readonly key: string;
  readonly pieces: readonly string[];
  /** What follows each piece but the last. */
  readonly gaps: readonly ("uid" | "time" | "date")[];
}

let templates: readonly Template[] | undefined;

/** Stores them in one transaction; false where they have to be created one by one. */
export async function copyBootstrapObjects(context: CopyContext): Promise<boolean> {
  if (templates === undefined || !(await canShare(context))) return false;
  const { clock, storage } = context;
  const time = `${new Date(clock.now()).toISOString().slice(0, "2006-01-02T15:04:05".length)}Z`;
  const then = templates.map(({ key, pieces, gaps }): WriteOperation => {
    const filling = { uid: randomUUID(), time, date: dateOf(time) };
    const text = pieces.map((piece, n) => piece + (n < gaps.length ? filling[gaps[n]!] : ""));
    return { put: key, value: Buffer.from(text.join("")) };
  });
  const compare = templates.map(({ key }) => ({ key, modRevision: 0 }));
  return (await storage.backend.txn({ compare, then, otherwise: [] })).succeeded;
}

/**
 * Runs `create`, which creates the bootstrap objects, and keeps them for `copyBootstrapObjects` if this
 * is the first server whose objects are the same in others.
 */
export async function keepingBootstrapObjects(
  context: CopyContext,
  create: () => Promise<void>,
): Promise<void> {
  const isFirst = templates === undefined && (await canShare(context));
  await create();
  if (!isFirst) return;
  const { entries } = await context.storage.backend.range(rangeOf(context));
  templates ??= entries.map(({ key, value }) => templateOf(key, Buffer.from(value).toString()));
}

async function canShare(context: CopyContext): Promise<boolean> {
  if (!context.hasDefaultOptions) return false;
  const { entries } = await context.storage.backend.range({ ...rangeOf(context), limit: 1 });
  return entries.length === 0;
}

function rangeOf({ storageRoot }: CopyContext): { readonly from: string; readonly to: string } {
  const from = `${storageRoot}/`;
  return { from, to: prefixEnd(from) };
}

/** Uids, times and dates are whole strings; no bootstrap object has a date that does not change. */
function templateOf(key: string, text: string): Template {
  const { uid } = (parseJsonText(text) as any).metadata;
  const values = new RegExp(`(?<=")(${uid}|\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}Z)?)(?=")`);
  // Every second part is what the group has matched.
  const parts = text.split(values);
  const pieces = parts.filter((_part, n) => n % 2 === 0);
  const found = parts.filter((_part, n) => n % 2 === 1);
  const gaps = found.map((value) => {
    if (value === uid) return "uid";
    return value === dateOf(value) ? "date" : "time";
  });
  return { key, pieces, gaps };
}

function dateOf(time: string): string {
  return time.slice(0, "2006-01-02".length);
}
