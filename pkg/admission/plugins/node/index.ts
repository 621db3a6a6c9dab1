/** plugins/node: Nodes and what kubelets may write. */
export { nodeRestriction } from "./node-restriction.ts";
export { taintNodesByCondition } from "./taint-nodes-by-condition.ts";
