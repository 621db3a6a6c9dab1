/** Structs of meta/v1 that are sent but never stored. */
export { apiGroupDiscoveryList } from "./aggregated-discovery.ts";
export { apiGroup, apiGroupList, apiResourceList, apiVersions } from "./discovery.ts";
export {
  createOptions,
  deleteOptions,
  getOptions,
  listOptions,
  patchOptions,
  preconditions,
  updateOptions,
} from "./options.ts";
export { partialObjectMetadata } from "./partial-object-metadata.ts";
export { status } from "./status.ts";
export { table } from "./table.ts";
export { watchEvent } from "./watch-event.ts";
