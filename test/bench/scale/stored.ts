/**
 * Fills the etcd of a running API server with copies of one object that the server has stored, in
 * the server's encoding: names and uids are replaced by others of equal length.
 */
import { etcdBackend } from "../../../pkg/storage/etcd/index.ts";

/** Maximum number of operations (etcd's default limit is 128) and bytes of one transaction. */
const maxOperations = 100;
const maxBytes = 1_000_000;
const inFlight = 4;

export interface Clones {
  readonly endpoint: string;
  /** Key of the object that is copied. */
  readonly key: string;
  /** Texts in key and value to replace in copy `n`, each by one of equal length. */
  readonly replace: (n: number) => readonly (readonly [from: string, to: string])[];
  /** Numbers of the copies, `to` exclusive. */
  readonly from: number;
  readonly to: number;
}

/** Formats a number in names with fixed width, so that copies have equal length. */
export function digits(n: number, width = 7): string {
  return `${n}`.padStart(width, "0");
}

export async function storeClones({ endpoint, key, replace, from, to }: Clones): Promise<void> {
  await using backend = etcdBackend({ endpoints: [endpoint] });
  const { entries } = await backend.range({ from: key });
  if (entries[0] === undefined) throw new Error(`etcd has no ${key}`);
  const template = Buffer.from(entries[0].value).toString("latin1");
  const uid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(template)?.[0];
  if (uid === undefined) throw new Error(`${key} has no uid`);
  const batch = Math.max(1, Math.min(maxOperations, Math.floor(maxBytes / template.length)));
  const put = (n: number) => {
    const pairs = [...replace(n), [uid, uid.slice(0, -12) + digits(n, 12)] as const];
    const copy = (text: string): string =>
      pairs.reduce((result, [old, fresh]) => result.replaceAll(old, fresh), text);
    return { put: copy(key), value: Buffer.from(copy(template), "latin1") };
  };
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) {
      const start = next;
      next = Math.min(to, start + batch);
      const then = Array.from({ length: next - start }, (_each, n) => put(start + n));
      await backend.txn({ compare: [], then, otherwise: [] });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}
