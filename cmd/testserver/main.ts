import { randomUUID } from "node:crypto";
import { fstatSync } from "node:fs";
import { standardLogger, testServer } from "#controlplane";
import type { FlagGroup } from "../flags/help.ts";
import { logFormat, loggingFlags } from "../flags/logging-flags.ts";
import { flag, parseFlags } from "../flags/parse.ts";
import { untilSignal } from "../flags/until-signal.ts";
import { simulationFlags } from "../nodes/flags.ts";
import { ControlServer } from "./control-server.ts";

const testServerFlags = {
  "secure-port": flag("int", 0, "port of the API on 127.0.0.1; 0 = any free one"),
  "control-port": flag("int", 0, "port of the control interface on 127.0.0.1; 0 = any free one"),
  controllers: flag("bool", false, "run the controllers"),
  scheduler: flag("bool", false, "run the scheduler"),
  nodes: flag("int", 0, "number of simulated nodes"),
  "strict-simulation": simulationFlags["strict-simulation"],
  "intercept-controllers": flag(
    "bool",
    false,
    "also record requests of controllers, scheduler and simulated nodes, and inject faults into " +
      "them",
  ),
  "virtual-time": flag(
    "bool",
    false,
    "use virtual time, which tests advance through /control/clock",
  ),
} as const;

const allFlags = { ...testServerFlags, ...loggingFlags } as const;

const testServerGroups: readonly FlagGroup[] = [
  { heading: "Test server", flags: testServerFlags },
  { heading: "Logs", flags: loggingFlags },
];

/**
 * `keelson testserver`: an API server in memory for tests in any language. Prints one line of JSON,
 * a `ServerDescription`. Exits on SIGTERM, or when a pipe at its standard input closes.
 * @throws UsageError for invalid flags
 */
async function runTestServer(words: readonly string[]): Promise<void> {
  const values = parseFlags(allFlags, words);
  const signal = untilSignal();
  const server = await testServer({
    port: values["secure-port"],
    controllers: values.controllers,
    scheduler: values.scheduler,
    ...(values.nodes === 0
      ? {}
      : { nodes: { count: values.nodes, strictSimulation: values["strict-simulation"] } }),
    virtualTime: values["virtual-time"],
    interceptControllers: values["intercept-controllers"],
    logger: standardLogger(logFormat(values["logging-format"]), values.v),
  });
  const port = values["control-port"];
  const control = await ControlServer.listen({ server, port, token: randomUUID() });
  console.log(JSON.stringify(control.describe()));
  await Promise.race([aborted(signal), inputClosed()]);
  await control.close();
  // An open pipe would keep the process running.
  process.stdin.destroy();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Resolves when the pipe at standard input closes; never for a terminal or a file, such as
 * /dev/null.
 */
function inputClosed(): Promise<void> {
  const status = fstatSync(process.stdin.fd);
  if (!status.isFIFO() && !status.isSocket()) return new Promise(() => undefined);
  return new Promise((resolve) => {
    process.stdin.once("close", resolve).once("end", resolve).resume();
  });
}

export const testServerCommand = { groups: testServerGroups, run: runTestServer } as const;
