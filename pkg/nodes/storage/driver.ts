import type { Clock } from "#base";
import { Quantity, QuantityFault } from "#meta";
import { durationMs, prefix } from "../annotations.ts";

/** Name of the simulated CSI driver, as in StorageClasses and PersistentVolumes. */
export const driverName = prefix;

/** Calls that parameters can delay or make fail. */
export type DriverCall =
  | "provision"
  | "delete"
  | "attach"
  | "detach"
  | "mount"
  | "expand"
  | "node-expand"
  | "modify";

/** gRPC status codes that calls of a CSI driver may fail with. */
const codes = new Set([
  "Aborted",
  "AlreadyExists",
  "Canceled",
  "DeadlineExceeded",
  "FailedPrecondition",
  "Internal",
  "InvalidArgument",
  "NotFound",
  "OutOfRange",
  "PermissionDenied",
  "ResourceExhausted",
  "Unauthenticated",
  "Unavailable",
  "Unimplemented",
  "Unknown",
]);
/** Codes after which the call may still be running, by the rules of CSI sidecars. */
const uncertainCodes = new Set(["Canceled", "DeadlineExceeded", "Unavailable", "Aborted"]);
/** Codes of infeasible requests for a resizer or modifier. */
const infeasibleCodes = new Set(["InvalidArgument", "OutOfRange", "NotFound"]);

/** Error of a CSI call; its message is that of a gRPC status. */
export class CsiError extends Error {
  override readonly name = "CsiError";

  constructor(
    readonly code: string,
    readonly description: string,
  ) {
    super(`rpc error: code = ${code} desc = ${description}`);
  }

  /** Whether the call has definitely ended. */
  get isFinal(): boolean {
    return !uncertainCodes.has(this.code);
  }

  /** Whether repeating the same call is pointless. */
  get isInfeasible(): boolean {
    return infeasibleCodes.has(this.code);
  }
}

type Parameters = Readonly<Record<string, string>> | undefined;

export interface DriverContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Makes a call of the simulated driver: waits for `delay` or `<call>-delay`, then fails with the
 * gRPC code that `fail-<call>` names (`true` = Internal).
 * @throws CsiError
 */
export async function callDriver(
  call: DriverCall,
  parameters: Parameters,
  { clock, signal }: DriverContext,
): Promise<void> {
  const delayMs = driverDelayMs(call, parameters);
  if (delayMs > 0) await clock.sleep(delayMs, signal, { background: true });
  const failure = driverFailure(call, parameters);
  if (failure !== undefined) throw failure;
}

/** Delay of a call in ms, by parameters. */
export function driverDelayMs(call: DriverCall, parameters: Parameters): number {
  return durationMs(parameters?.[`${call}-delay`] ?? parameters?.["delay"]) ?? 0;
}

/** Error of a call by parameters; undefined = success. */
export function driverFailure(call: DriverCall, parameters: Parameters): CsiError | undefined {
  const code = parameters?.[`fail-${call}`];
  if (code === undefined || code === "" || code === "false") return undefined;
  const description = `simulated failure: the parameter fail-${call} is set`;
  return new CsiError(codes.has(code) ? code : "Internal", description);
}

/** Bytes that the parameter `capacity` gives each topology segment of a class; undefined = no limit. */
export function capacityLimit(parameters: Parameters): Quantity | undefined {
  const text = parameters?.["capacity"];
  if (text === undefined) return undefined;
  try {
    return Quantity.parse(text);
  } catch (error) {
    if (!(error instanceof QuantityFault)) throw error;
    throw new CsiError("InvalidArgument", `parameter capacity: ${error.message}`);
  }
}
