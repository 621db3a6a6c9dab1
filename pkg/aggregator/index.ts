/** aggregator: other API servers behind this one, as APIServices register them. */
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
export {
  type ApiServiceListener,
  ApiServices,
  isAvailable,
  type RemoteApiService,
} from "./api-services.ts";
