import type { Clock } from "#base";
import { goQuote } from "#meta";
import type { Container, ExecAction, Pod, Probe } from "#kinds";
import { perName } from "#routing";
import { annotationOf } from "../annotations.ts";
import type { ContainerCommands, Start } from "../environment/container-commands.ts";
import { EchoShell } from "../kubelet/exec/echo-shell.ts";
import type { ProbeKind } from "./probe-states.ts";

export interface ProbeOutcome {
  /** `error` = the probe could not be called: it does not count. */
  readonly result: "success" | "failure" | "error";
  /** What the kubelet's Event says about a failure. */
  readonly output: string;
  /** Whether the outcome stays the same until the pod changes. */
  readonly isFixed: boolean;
  /** Program or feature that is not simulated, because of which the probe passes. */
  readonly notRun?: string | undefined;
}

export interface CommandResult {
  readonly output: string;
  readonly exitCode: number | undefined;
  /** Program or feature that the command used, and that is not simulated. */
  readonly notSimulated: string | undefined;
  /** Time in ms for which the command slept. */
  readonly sleptMs: number;
}

export interface ProberOptions {
  readonly commands: Pick<ContainerCommands, "filesOf" | "environmentOf">;
  readonly clock: Clock;
  /** Whether probes with programs that are not simulated fail. */
  readonly isStrict: boolean;
}

const success: ProbeOutcome = { result: "success", output: "", isFixed: true };
/** Maximum length of the output of a probe: 10 KiB, as in the kubelet. */
const maxOutput = 10 << 10;
const defaultTimeoutSeconds = 1;

/**
 * Calls probes of simulated containers: commands in the shell; all others succeed unless annotations make
 * them fail.
 */
export class Prober {
  constructor(private readonly options: ProberOptions) {}

  get isStrict(): boolean {
    return this.options.isStrict;
  }

  outcomeOf(start: Start, kind: ProbeKind, probe: Probe): ProbeOutcome {
    const { pod, container } = start;
    const wanted = annotatedResult(pod, kind, container);
    if (wanted === "succeed") return success;
    if (wanted === "fail") {
      return { result: "failure", output: failureOf(probe, start), isFixed: true };
    }
    if (probe.exec !== undefined) return this.execute(start, probe);
    const { port } = probe.httpGet ?? probe.tcpSocket ?? {};
    if (port === undefined || portOf(port, container) !== undefined) return success;
    const output = `strconv.Atoi: parsing ${goQuote(String(port))}: invalid syntax`;
    return { result: "error", output, isFixed: true };
  }

  private execute(start: Start, { exec = {}, timeoutSeconds }: Probe): ProbeOutcome {
    const { output, exitCode, notSimulated, sleptMs } = this.run(start, exec);
    if (notSimulated !== undefined && !this.isStrict) return { ...success, notRun: notSimulated };
    const seconds = Number(timeoutSeconds ?? defaultTimeoutSeconds);
    if (sleptMs > seconds * 1000) {
      const shown = JSON.stringify((exec.command ?? []).join(" "));
      const text = `command timed out: ${shown} timed out after ${seconds}s`;
      return { result: "failure", output: text, isFixed: false };
    }
    // The exit code of a script that a program was missing from says nothing.
    const result = exitCode === 0 && notSimulated === undefined ? "success" : "failure";
    return { result, output: output.slice(0, maxOutput), isFixed: false };
  }

  /** Runs a command of a probe or hook in a container. */
  run(start: Start, { command = [] }: ExecAction): CommandResult {
    const { commands, clock } = this.options;
    const { pod, container } = start;
    const shell = new EchoShell({
      pod,
      container: container.name,
      files: commands.filesOf(start),
      environment: commands.environmentOf(start),
      clock,
      command,
    });
    const { stdout, stderr, exitCode, notSimulated, sleptMs = 0 } = shell.start(false);
    const output = Buffer.from(stdout).toString() + stderr;
    return { output, exitCode, notSimulated, sleptMs };
  }
}

/** Result of a probe by the pod's annotations: that of the kind of probe, or that of all probes. */
function annotatedResult(pod: Pod, kind: ProbeKind, { name }: Container): string | undefined {
  return (
    perName(annotationOf(pod, `${kind}-probe`), name) ?? perName(annotationOf(pod, "probe"), name)
  );
}

/** Number of a port by number or name; undefined = the container declares no port of that name. */
function portOf(port: number | bigint | string, { ports = [] }: Container): number | undefined {
  if (typeof port !== "string") return Number(port);
  if (/^\d+$/.test(port)) return Number(port);
  const declared = ports.find(({ name }) => name === port);
  return declared && Number(declared.containerPort);
}

function failureOf({ httpGet, tcpSocket, grpc }: Probe, { pod, container }: Start): string {
  if (httpGet !== undefined) return "HTTP probe failed with statuscode: 503";
  if (grpc !== undefined) return 'service unhealthy (responded with "NOT_SERVING")';
  if (tcpSocket === undefined) return "";
  const address = `${pod.status?.podIP ?? ""}:${portOf(tcpSocket.port, container) ?? 0}`;
  return `dial tcp ${address}: connect: connection refused`;
}
