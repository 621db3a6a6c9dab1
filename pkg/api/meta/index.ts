/** Structs that only travel: nothing of this is stored. */
export {
  apiGroupDiscovery,
  apiGroupDiscoveryList,
  apiResourceDiscovery,
  apiSubresourceDiscovery,
  apiVersionDiscovery,
  groupVersionKind,
} from "./aggregated-discovery.ts";
export {
  apiGroup,
  apiGroupList,
  apiResource,
  apiResourceList,
  apiVersions,
  groupVersionForDiscovery,
  serverAddressByClientCIDR,
} from "./discovery.ts";
export { anyList } from "./list.ts";
export {
  createOptions,
  deleteOptions,
  getOptions,
  listOptions,
  patchOptions,
  preconditions,
  updateOptions,
} from "./options.ts";
export { partialObjectMetadata, partialObjectMetadataList } from "./partial-object-metadata.ts";
export { status, statusCause, statusDetails } from "./status.ts";
export { table, tableColumnDefinition, tableOptions, tableRow } from "./table.ts";
export { watchEvent } from "./watch-event.ts";
