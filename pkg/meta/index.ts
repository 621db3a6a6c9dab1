/** meta: what every object shares. */
export { type Domain, domainOf, kubernetes, protoPackage, resolve } from "./domain.ts";
export * from "./kind.ts";
export { Catalog, groupVersionOf, type Resource } from "./catalog.ts";
export { type Status, type StatusCause, type StatusDetails, StatusError } from "./status.ts";
