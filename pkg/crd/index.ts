/** crd: serves what CustomResourceDefinitions define. */
export { serveDefinitions, type ServedDefinitions } from "./definitions.ts";
