import type { Node } from "#kinds";
import { annotationOf, durationMs } from "../annotations.ts";
import { stableFraction } from "../identifiers.ts";
import { starvationsOf } from "./eviction.ts";
import type { NodeTrouble } from "./node-status.ts";

export interface NodeHealth {
  /** The kubelet sends no heartbeats, and does nothing to its pods. */
  readonly isSilent: boolean;
  /** The kubelet is late with its heartbeats and its pods, but not too late. */
  readonly isSlow: boolean;
  /** The machine is gone, and its Node object with it. */
  readonly isGone: boolean;
  readonly troubles: ReadonlySet<NodeTrouble>;
  /** Wall clock in ms at which the health changes by itself; Infinity = it does not. */
  readonly changesAt: number;
}

/** Time for which a flapping node works, and then is silent, unless its annotation names another. */
const flapMs = 60_000;
const shortestFlapMs = 1_000;

const troubleNames: Readonly<Record<string, NodeTrouble>> = {
  "memory-pressure": "MemoryPressure",
  "disk-pressure": "DiskPressure",
  "pid-pressure": "PIDPressure",
  "not-ready": "NotReady",
};

/**
 * The health that the annotation `failure` gives a node: words with commas in between.
 * @param seed decides with the node's name at what time a flapping node is silent
 */
export function nodeHealth(node: Node, now: number, seed = ""): NodeHealth {
  const words = new Map(
    (annotationOf(node, "failure") ?? "").split(",").map((each) => {
      const [word = "", value] = each.split("=");
      return [word.trim(), value?.trim()];
    }),
  );
  const named = Object.entries(troubleNames).filter(([word]) => words.has(word));
  const starved = starvationsOf(node).map(({ trouble }) => trouble);
  const flaps = words.has("flapping");
  const halfMs = Math.max(durationMs(words.get("flapping")) ?? flapMs, shortestFlapMs);
  // Nodes do not flap in step.
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
