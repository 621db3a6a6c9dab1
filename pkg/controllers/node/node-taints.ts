/** Taints of nodes that controllers set and remove. */
import type { Client } from "#client";
import { type Node, nodes, type Taint } from "#kinds";
import { isNotFound } from "#meta";
import { type ControllerContext, statusCodeOf } from "../controller-context.ts";
import { formatTime } from "../time.ts";

/** Identity of a taint: key and effect, not the value. */
export type TaintId = Pick<Taint, "key" | "effect">;

const maxAttempts = 5;

export function hasTaint({ spec }: Node, wanted: TaintId): boolean {
  return (spec?.taints ?? []).some((taint) => isSameTaint(taint, wanted));
}

export function isSameTaint(a: TaintId, b: TaintId): boolean {
  return a.key === b.key && a.effect === b.effect;
}

/**
 * Adds and removes taints in one write. Present taints keep their value and `timeAdded`. Retries conflicts
 * with a live read; ignores a deleted node.
 */
export async function swapTaints(
  { client, clock }: Pick<ControllerContext, "client" | "clock">,
  node: Node,
  {
    add = [],
    remove = [],
  }: { readonly add?: readonly TaintId[]; readonly remove?: readonly TaintId[] },
): Promise<void> {
  await retryOnConflict(client, node, async (current) => {
    const taints = current.spec?.taints ?? [];
    const missing = add.filter((taint) => !hasTaint(current, taint));
    const remaining = taints.filter((taint) => !remove.some((each) => isSameTaint(each, taint)));
    if (missing.length === 0 && remaining.length === taints.length) return;
    const timeAdded = formatTime(clock.now());
    const next = [...remaining, ...missing.map((taint) => ({ ...taint, timeAdded }))];
    const { name, uid, resourceVersion } = current.metadata;
    const body = {
      metadata: { uid, resourceVersion },
      spec: { taints: next.length === 0 ? null : next },
    };
    await client.patch(nodes, { name }, { type: "merge", body });
  });
}

/** Retries a write with the live object after each conflict; ignores a deleted node. */
async function retryOnConflict(
  client: Client,
  node: Node,
  write: (current: Node) => Promise<void>,
): Promise<void> {
  let current = node;
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(current);
    } catch (error) {
      if (isNotFound(error)) return;
      if (statusCodeOf(error) !== 409 || attempt === maxAttempts) throw error;
    }
    try {
      const { name } = node.metadata;
      current = await client.get(nodes, { name });
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
    if (current.metadata.uid !== node.metadata.uid) return;
  }
}
