/** crd: serves the resources of CustomResourceDefinitions and maintains their status. */
export { serveDefinitions, type ServedDefinitions } from "./definitions.ts";
