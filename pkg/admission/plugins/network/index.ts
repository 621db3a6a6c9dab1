/** plugins/network: Ingresses and Services. */
export { defaultIngressClass } from "./default-ingress-class.ts";
export { denyServiceExternalIPs } from "./deny-service-external-ips.ts";
