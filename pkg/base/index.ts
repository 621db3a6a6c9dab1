/** base: utilities for all folders, without npm packages or Kubernetes concepts. */
export { append } from "./collections/append.ts";
export {
  finallyDo,
  type Awaitable,
  firstDefined,
  recoverAwaitable,
  chainAwaitable,
} from "./async/awaitable.ts";
export { assert, AssertionFailure, unreachable } from "./assert.ts";
export {
  type Clock,
  heldDuring,
  idleWhile,
  realClock,
  type SleepOptions,
  systemClock,
} from "./clock.ts";
export { VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
export {
  type AdjustableLogger,
  createLogger,
  type LogFields,
  type LogFormat,
  type Logger,
  silentLogger,
} from "./logger.ts";
export { memoize } from "./collections/memoize.ts";
export {
  certainlyDiffer,
  certainlyDifferInSlices,
  deepEqual,
  deepEqualInSlices,
} from "./value/equal.ts";
export { deepClone, deepCloneInSlices } from "./value/clone.ts";
export { differingParts } from "./value/differing.ts";
export {
  assign,
  compareUtf8,
  concatBytes,
  ownBytes,
  ownText,
  sortedKeys,
  textWithin,
  toBuffer,
} from "./text/bytes.ts";
export { cryptoRandom, randomText, seededRandom, shuffle, type Random } from "./random.ts";
export { randomUuid } from "./uuid.ts";
export { type HeldPort, holdPort } from "./held-port.ts";
export { identity } from "./value/identity.ts";
export { isJsonObject, type JsonObject } from "./text/json-object.ts";
export { keysInGoOrder } from "./text/go-key-order.ts";
export { OpaqueJson, printGoJson, printJson, printSortedJson } from "./text/json-text.ts";
export { parseJsonText } from "./text/parse-json.ts";
export { unifiedDiff } from "./text/unified-diff.ts";
export { CacheBudget, type Evictable } from "./collections/cache-budget.ts";
export { abortable } from "./async/abortable.ts";
export { JsonTypeFault, TypedFields } from "./value/typed-fields.ts";
export { SharedCalls } from "./async/shared-calls.ts";
export { bufferWhileParserPaused } from "./network/http1-over-tls.ts";
export { AsyncQueue } from "./async/queue.ts";
export { plannedEnd } from "./async/planned-end.ts";
export { KeyedMutex } from "./async/keyed-mutex.ts";
export { SortedMap } from "./collections/sorted-map.ts";
export { setBounded } from "./collections/bounded-map.ts";
export { yieldEvery } from "./async/yield-every.ts";
export {
  atOnce,
  inTurns,
  promptly,
  slicedLevels,
  sliceLength,
  type Slices,
} from "./async/slices.ts";
export { sortedKeysInSlices, sortInSlices } from "./async/sort-in-slices.ts";
export {
  type Cidr,
  cidrContains,
  formatNetwork,
  maskedIp,
  networkOf,
  parseCidr,
  parseStrictCidr,
} from "./network/cidr.ts";
export {
  formatIp,
  type IpAddress,
  ipFamily,
  isGlobalUnicast,
  isIpv4Mapped,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseIp,
  parseStrictIp,
} from "./network/ip-address.ts";
export { dialFailure, dialTimedOut, hostAndPort } from "./network/dial-failure.ts";
export { connectionOptions, hopByHopHeaders } from "./network/hop-by-hop-headers.ts";
export { type ServerTrust, trustAuthorities, trustServers } from "./network/trust-anchors.ts";
export { compareSemver, parseSemver, type SemanticVersion } from "./text/semantic-version.ts";
