/** aggregator: API servers that are registered by APIServices and proxied by this server. */
export {
  type ApiService,
  type ApiServiceCondition,
  BackendError,
  type BackendFailure,
  type BackendRequest,
  type BackendResponse,
  type BackendTransport,
  type ServiceReference,
} from "./contract.ts";
export { Backends, type BackendsOptions } from "./transport/backends.ts";
export type { ClientCertificate } from "./transport/dial.ts";
export { aggregatorMetrics } from "./metrics.ts";
export {
  type AvailabilityOptions,
  runAvailability,
} from "./availability/availability-controllers.ts";
export { runDefinitionRegistration } from "./registration/definition-registration.ts";
export {
  type ApiServiceListener,
  ApiServices,
  isAvailable,
  type RemoteApiService,
} from "./api-services.ts";
export { Downloader } from "./download/download.ts";
export { DiscoveryManager, type DiscoveryManagerOptions } from "./discovery/discovery-manager.ts";
export { orderGroups, type RankedVersion } from "./discovery/group-order.ts";
export {
  type DiscoverySnapshot,
  noApiServices,
  type RegisteredVersion,
  type VersionDiscovery,
} from "./discovery/version-discovery.ts";
export { mergeSpecs } from "./openapi/merge-specs.ts";
export type { RemoteSpec } from "./openapi/remote-spec.ts";
export { OpenApiV2Specs } from "./openapi/openapi-v2.ts";
export {
  maxProxiedBytes,
  OpenApiV3Roots,
  type ProxiedDocument,
  type RemoteDocument,
} from "./openapi/openapi-v3.ts";
export { AggregatingClient } from "./client/aggregating-client.ts";
export { backendClient } from "./client/backend-client.ts";
