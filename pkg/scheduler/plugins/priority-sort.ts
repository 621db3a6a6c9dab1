import { priorityOf } from "#kinds";
import type { Plugin } from "../framework/contract.ts";

/** PrioritySort: orders the queue by priority, then by enqueue time. */
export function prioritySort(): Plugin {
  return {
    name: "PrioritySort",
    less: (a, b) => {
      const left = priorityOf(a.info.pod);
      const right = priorityOf(b.info.pod);
      return left === right ? a.timestamp < b.timestamp : left > right;
    },
  };
}
