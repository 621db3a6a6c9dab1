/** request: the words of a request and the contracts of those who judge it. */
export type * from "./types.ts";
export { Query } from "./query.ts";
export { parseRequestInfo, parseTarget, pathParts, type RequestTarget } from "./request-info.ts";
export {
  type Endpoint,
  KubeconfigFault,
  parseKubeconfig,
  type WebhookClient,
  webhookClient,
  WebhookFault,
} from "./webhook/index.ts";
