import { unreachable } from "#base";
import {
  expired,
  internalError,
  plainFailure,
  requestEntityTooLarge,
  serviceUnavailable,
  type StatusError,
  timeout,
  tooLargeResourceVersion,
} from "#meta";
import type { StoreFault, StoreFaultDetail } from "#storage";

/** The StatusError for a storage error, which is its cause. */
export function faultError(fault: StoreFault): StatusError {
  return Object.assign(errorOf(fault.detail), { cause: fault });
}

function errorOf(detail: StoreFaultDetail): StatusError {
  switch (detail.kind) {
    case "compacted":
      return expired(`The resourceVersion for the provided list is too old.`);
    case "future-revision":
      return tooLargeResourceVersion(detail.current + 1, detail.current);
    case "too-large":
      return requestEntityTooLarge(detail.message);
    case "too-slow":
      return expired("too old resource version: the watcher did not keep up with the changes");
    case "no-space":
      // etcd's message, which alerts and runbooks search for.
      return plainFailure("etcdserver: mvcc: database space exceeded");
    case "unavailable":
      return serviceUnavailable(`the store is unavailable: ${detail.message}`);
    case "timeout":
      return timeout(`the store did not respond in time: ${detail.message}`);
    case "corrupt":
      return internalError(`a stored value cannot be read: ${detail.message}`);
    case "closed":
      return serviceUnavailable("the store is closed");
    default:
      return unreachable(detail);
  }
}
