/** routing: which addresses that the API names are dialled, and which a simulation invented. */
export { AddressRoutes, type AddressRoutesOptions } from "./address-routes.ts";
export { allowedTarget, annotatedTarget, isPort } from "./forward-target.ts";
export {
  perName,
  podCidrsAnnotation,
  portForwardAnnotation,
  simulatedNodeLabel,
  simulationPrefix,
} from "./simulated.ts";
export type { OwnNodes } from "./simulated-nodes.ts";
