/** registry: the verbs for any kind. */
export type * from "./contract.ts";
export { onlyChangesGarbageCollection } from "./admission/garbage-collection-fields.ts";
export { runHandlers, runEach } from "./admission/handler.ts";
export { firstAddress } from "./allocation/address-range.ts";
export { type ConnectRequest, type Destination, connectMethods } from "./connect/index.ts";
export type { RegistryOptions } from "./context.ts";
export {
  checkDeleteOptions,
  checkDryRun,
  ignoreReadErrorField,
  type RawDeleteOptions,
} from "./delete/delete-options.ts";
export { converterMessage } from "./codec/converter-words.ts";
export { hasOtherKind, isDecodedBy, optionsScheme, schemeOf } from "./codec/schemes.ts";
export { unknownConversion, unregisteredKind } from "./codec/type-meta.ts";
export { faultError } from "./codec/faults.ts";
export {
  apiserver,
  apiserverAgent,
  bodyOf,
  listAll,
  jsonBody,
  defaultDeleteOptions,
  defaultWriteOptions,
  type ServerAccess,
  loopbackRequest,
} from "./loopback-requests.ts";
export { serviceReader } from "./service-reader.ts";
export { createRegistry } from "./registry.ts";
export { checkListOptions } from "./read/list-options.ts";
