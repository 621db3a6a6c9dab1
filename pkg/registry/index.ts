/** registry: the verbs for any kind. */
export type * from "./contract.ts";
export {
  type Admit,
  admitBy,
  type Attributes as AdmissionAttributes,
  oneAfterAnother,
} from "./admission/handler.ts";
export { firstAddress } from "./allocation/address-range.ts";
export type { ServiceNetwork } from "./allocation/service-allocator.ts";
export { type ConnectRequest, type Destination, streamMethods } from "./connect/index.ts";
export type { RegistryOptions } from "./context.ts";
export { faultError } from "./codec/faults.ts";
export {
  apiserver,
  apiserverAgent,
  bodyOf,
  everything,
  jsonBody,
  plainDelete,
  plainWrite,
  type ServerAccess,
  serverTarget,
} from "./loopback-requests.ts";
export { createRegistry } from "./registry.ts";
export type { Answerer, Question } from "./subresources/question.ts";
