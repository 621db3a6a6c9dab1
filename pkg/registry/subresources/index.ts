/** subresources: those that are more than a part of their object. */
export { rejectComputedWatch } from "./component-status.ts";
export { specialVerbs } from "./special-verbs-of.ts";
export { virtualCreate } from "./virtual-create.ts";
