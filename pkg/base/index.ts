/** base: what every folder may use. No npm package, no Kubernetes word. */
export { append } from "./append.ts";
export { afterwards, type Awaitable, firstAnswer, rescued, whenThere } from "./awaitable.ts";
export { assert, AssertionFailure, unreachable } from "./assert.ts";
export { systemClock, type Clock } from "./clock.ts";
export {
  type AdjustableLogger,
  createLogger,
  type LogFields,
  type LogFormat,
  type Logger,
  silentLogger,
} from "./logger.ts";
export { memoize } from "./memoize.ts";
export { deepEqual } from "./equal.ts";
export { deepClone } from "./clone.ts";
export {
  assign,
  compareUtf8,
  concatBytes,
  ownBytes,
  ownText,
  sortedKeys,
  textWithin,
  toBuffer,
} from "./bytes.ts";
export { cryptoRandom, randomText, seededRandom, shuffle, type Random } from "./random.ts";
export { type HeldPort, holdPort } from "./held-port.ts";
export { identity } from "./identity.ts";
export { isJsonObject, type JsonObject } from "./json-object.ts";
export { OpaqueJson, printJson } from "./json-text.ts";
export { Keeper, type Kept } from "./keeper.ts";
export { AsyncQueue } from "./queue.ts";
export { keyRange } from "./key-order.ts";
export { SortedMap } from "./sorted-map.ts";
export { remember } from "./remember.ts";
export { turns } from "./turns.ts";
