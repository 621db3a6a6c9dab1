import type { Node } from "#kinds";
import { annotationOf, durationMs } from "../annotations.ts";
import { stableFraction } from "../identifiers.ts";
import { starvedResources } from "./eviction.ts";
import type { UnhealthyCondition } from "./node-status.ts";

export interface NodeHealth {
  /** The kubelet sends no heartbeats and syncs no pods. */
  readonly isSilent: boolean;
  /** The kubelet delays heartbeats and pod syncs, within the grace periods. */
  readonly isSlow: boolean;
  /** The machine and its Node object are removed. */
  readonly isGone: boolean;
  readonly troubles: ReadonlySet<UnhealthyCondition>;
  /** Wall clock in ms of the next change of a flapping node; Infinity = none. */
  readonly changesAt: number;
}

/** Default time for which a flapping node works, and is then unresponsive. */
const flapMs = 60_000;
const shortestFlapMs = 1_000;

const troubleNames: Readonly<Record<string, UnhealthyCondition>> = {
  "memory-pressure": "MemoryPressure",
  "disk-pressure": "DiskPressure",
  "pid-pressure": "PIDPressure",
  "not-ready": "NotReady",
};

/**
 * Parses the annotation `failure` of a node: comma-separated words.
 * @param seed with the node's name determines the phase of flapping
 */
export function nodeHealth(node: Node, now: number, seed = ""): NodeHealth {
  const words = new Map(
    (annotationOf(node, "failure") ?? "").split(",").map((each) => {
      const [word = "", value] = each.split("=");
      return [word.trim(), value?.trim()];
    }),
  );
  const named = Object.entries(troubleNames).filter(([word]) => words.has(word));
  const starved = starvedResources(node).map(({ trouble }) => trouble);
  const flaps = words.has("flapping");
  const halfMs = Math.max(durationMs(words.get("flapping")) ?? flapMs, shortestFlapMs);
  // Nodes flap with different phases.
  const phase = stableFraction(node.metadata.name, "flap", ...(seed === "" ? [] : [seed]));
  const shifted = now + Math.floor(phase * 2 * halfMs);
  const isOff = flaps && Math.floor(shifted / halfMs) % 2 === 1;
  return {
    isSilent: words.has("silent") || isOff,
    isSlow: words.has("slow"),
    isGone: words.has("gone"),
    troubles: new Set([...named.map(([, trouble]) => trouble), ...starved]),
    changesAt: flaps ? now + halfMs - (shifted % halfMs) : Infinity,
  };
}
