/** webhook: calls of webhooks, configured by kubeconfig files or by objects. */
export { type WebhookClient, webhookClient, WebhookFault } from "./client.ts";
export { type Endpoint, KubeconfigFault, parseKubeconfig } from "./kubeconfig.ts";
export { decodeReviewStatus } from "./review-answer.ts";
export { CallFault } from "./call-fault.ts";
export { escapePath } from "./clean-path.ts";
export { callWebhook } from "./call.ts";
export { type WebhookClientConfig, webhookPlace } from "./service-place.ts";
