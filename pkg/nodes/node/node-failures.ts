import type { Node } from "#kinds";
import { annotationOf } from "../annotations.ts";
import { stableFraction } from "../identifiers.ts";
import { starvationsOf } from "./eviction.ts";
import type { NodeTrouble } from "./node-status.ts";

export interface NodeHealth {
  /** The kubelet sends no heartbeats, and does nothing to its pods. */
  readonly isSilent: boolean;
  /** The machine is gone, and its Node object with it. */
  readonly isGone: boolean;
  readonly troubles: ReadonlySet<NodeTrouble>;
  /** Wall clock in ms at which the health changes by itself; Infinity = it does not. */
  readonly changesAt: number;
}

/** Times for which a flapping node works, and is silent, by turns. */
const flapMs = 60_000;

const troubleNames: Readonly<Record<string, NodeTrouble>> = {
  "memory-pressure": "MemoryPressure",
  "disk-pressure": "DiskPressure",
  "pid-pressure": "PIDPressure",
  "not-ready": "NotReady",
};

/** The health that the annotation `failure` gives a node: words with commas in between. */
export function nodeHealth(node: Node, now: number): NodeHealth {
  const words = new Set(
    (annotationOf(node, "failure") ?? "").split(",").map((each) => each.trim()),
  );
  const named = Object.entries(troubleNames).filter(([word]) => words.has(word));
  const starved = starvationsOf(node).map(({ trouble }) => trouble);
  const flaps = words.has("flapping");
  // Nodes do not flap in step.
  const shifted = now + Math.floor(stableFraction(node.metadata.name, "flap") * 2 * flapMs);
  const isOff = flaps && Math.floor(shifted / flapMs) % 2 === 1;
  return {
    isSilent: words.has("silent") || isOff,
    isGone: words.has("gone"),
    troubles: new Set([...named.map(([, trouble]) => trouble), ...starved]),
    changesAt: flaps ? now + flapMs - (shifted % flapMs) : Infinity,
  };
}
