/** Validation of probes and lifecycle handlers. */
import type { Path, Problems } from "#schema";
import { isHttpHeaderName, isPortName, isPortNumber } from "#meta";
import { invalidEach, unsupported } from "../../../strategy.ts";
import type { Container } from "./containers.ts";
import { type HttpGetAction, type Probe, signals } from "./probes.ts";

type Lifecycle = NonNullable<Container["lifecycle"]>;
type Handler = NonNullable<Lifecycle["preStop"]> & Pick<Probe, "grpc">;

export interface Timing {
  /** Termination grace period of the pod in seconds. */
  readonly gracePeriod: number | bigint;
  readonly problems: Problems;
}

export function checkPort(port: number | string, path: Path, problems: Problems): void {
  const messages = typeof port === "number" ? isPortNumber(port) : isPortName(port);
  invalidEach(problems, path, { value: port, messages });
}

function checkRequest(request: HttpGetAction, path: Path, problems: Problems): void {
  if (!request.path) problems.required(path.child("path"));
  checkPort(request.port, path.child("port"), problems);
  const schemes = ["HTTP", "HTTPS"];
  if (!schemes.includes(request.scheme ?? "")) {
    problems.notSupported(path.child("scheme"), request.scheme ?? "", schemes);
  }
  for (const { name } of request.httpHeaders ?? []) {
    const messages = isHttpHeaderName(name);
    invalidEach(problems, path.child("httpHeaders"), { value: name, messages });
  }
}

/** Requires exactly one valid handler. */
function checkHandler(handler: Handler, path: Path, { gracePeriod, problems }: Timing): void {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  let found = false;
  const visit = <T>(
    name: string,
    action: T | undefined,
    check: (a: T, fieldPath: Path) => void,
  ) => {
    if (action === undefined) return;
    const fieldPath = path.child(name);
    if (found) problems.forbidden(fieldPath, "may not specify more than 1 handler type");
    else check(action, fieldPath);
    found = true;
  };
  visit("exec", exec, ({ command = [] }, handlerPath) => {
    if (command.length === 0) problems.required(handlerPath.child("command"));
  });
  visit("httpGet", httpGet, (request, handlerPath) => checkRequest(request, handlerPath, problems));
  visit("tcpSocket", tcpSocket, ({ port }, handlerPath) =>
    checkPort(port, handlerPath.child("port"), problems),
  );
  visit("grpc", grpc, ({ port }, handlerPath) =>
    checkPort(port, handlerPath.child("port"), problems),
  );
  visit("sleep", sleep, ({ seconds }, handlerPath) => {
    if (seconds >= 0 && seconds <= gracePeriod) return;
    const limit = `terminationGracePeriodSeconds (${gracePeriod})`;
    problems.invalid(handlerPath, seconds, `must be non-negative and less than ${limit}`);
  });
  if (!found) problems.required(path, "must specify a handler type");
}

const counts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function checkProbe(probe: Probe, path: Path, timing: Timing): void {
  const { problems } = timing;
  checkHandler(probe, path, timing);
  for (const name of counts) {
    const value = probe[name] ?? 0;
    if (value >= 0) continue;
    problems.invalid(path.child(name), value, "must be greater than or equal to 0");
  }
  const { terminationGracePeriodSeconds: grace } = probe;
  if (grace === undefined || grace > 0) return;
  problems.invalid(path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0");
}

/** Validates a liveness or startup probe, whose successThreshold must be 1. */
function checkRestartingProbe(probe: Probe | undefined, path: Path, timing: Timing): void {
  if (probe === undefined) return;
  checkProbe(probe, path, timing);
  const { successThreshold = 0 } = probe;
  if (successThreshold === 1) return;
  timing.problems.invalid(path.child("successThreshold"), successThreshold, "must be 1");
}

function checkReadinessProbe(probe: Probe | undefined, path: Path, timing: Timing): void {
  if (probe === undefined) return;
  checkProbe(probe, path, timing);
  const { terminationGracePeriodSeconds: grace } = probe;
  if (grace === undefined) return;
  const terminationGracePeriodSecondsPath = path.child("terminationGracePeriodSeconds");
  timing.problems.invalid(
    terminationGracePeriodSecondsPath,
    grace,
    "must not be set for readinessProbes",
  );
}

/** Validates probes and lifecycle of long-running containers, including sidecars. */
export function checkLongRunning(
  { lifecycle, livenessProbe, readinessProbe, startupProbe }: Container,
  path: Path,
  timing: Timing,
): void {
  if (lifecycle !== undefined) checkLifecycle(lifecycle, path.child("lifecycle"), timing);
  checkRestartingProbe(livenessProbe, path.child("livenessProbe"), timing);
  checkReadinessProbe(readinessProbe, path.child("readinessProbe"), timing);
  checkRestartingProbe(startupProbe, path.child("startupProbe"), timing);
}

function checkLifecycle(
  { postStart, preStop, stopSignal }: Lifecycle,
  path: Path,
  timing: Timing,
): void {
  if (postStart !== undefined) checkHandler(postStart, path.child("postStart"), timing);
  if (preStop !== undefined) checkHandler(preStop, path.child("preStop"), timing);
  if (stopSignal === undefined || signals.includes(stopSignal)) return;
  const choice = { value: stopSignal, supported: [...signals].sort() };
  unsupported(timing.problems, path.child("stopSignal"), choice);
}
