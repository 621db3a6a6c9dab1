/** request: request types and the interfaces of authentication, authorization, audit and tracing. */
export type * from "./types.ts";
export {
  type AuditedResponse,
  type AuditedRequest,
  AuditFault,
  type Auditor,
  type AuditTrail,
  type RequestNotes,
  type SentBody,
} from "./audit.ts";
export { Query, unescapeKey } from "./query.ts";
export {
  nonResourceRequestInfo,
  lacksResource,
  parseRequestInfo,
  parseTarget,
  pathParts,
  type RequestTarget,
  resourceRequestInfo,
} from "./request-info.ts";
export {
  CallFault,
  callWebhook,
  type Endpoint,
  escapePath,
  KubeconfigFault,
  parseKubeconfig,
  type WebhookClient,
  decodeReviewStatus,
  webhookClient,
  type WebhookClientConfig,
  WebhookFault,
  webhookPlace,
} from "./webhook/index.ts";
export {
  type AddressRoute,
  type AddressRouter,
  type ApiAddress,
  closedDialer,
  Dialer,
  type DialTarget,
  type NamespacedName,
  SimulatedAddress,
} from "./services/dialer.ts";
export {
  isReadyEndpoint,
  resolveService,
  type ResolvableService,
  type ServiceReader,
  type ServiceRouting,
  type ServiceSlice,
  UnresolvedService,
} from "./services/resolve-service.ts";
export {
  type Instruments,
  type MetricDefinition,
  type MetricLabels,
  noInstruments,
} from "./instruments.ts";
export {
  noSpan,
  noTracer,
  type RequestSpan,
  type Span,
  type SpanAttributes,
  type TraceHeaders,
  type Tracer,
} from "./tracer.ts";
