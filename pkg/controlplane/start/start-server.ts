import { type Clock, realClock, systemClock, VirtualClock, plannedEnd } from "#base";
import type { CloseOptions } from "#server";
import type { Backend } from "#storage";
import { assemble, type Assembly } from "./assemble.ts";
import { runBackground } from "./background.ts";
import { buildDependencies, type Inheritance, type ServerSettings } from "./build-dependencies.ts";
import { fetchInProcess } from "./fetch-in-process.ts";
import { inheritanceOf, isNeutral } from "./inheritance.ts";
import { kubeconfig } from "../credentials/kubeconfig.ts";
import { resolveOptions } from "../observability/logging.ts";
import { localhost, urlHost } from "../network.ts";
import { openStorage } from "../storage/open-storage.ts";
import type { RunningServer, ServerSnapshot, StartOptions } from "../options.ts";
import { runPostStartHooks } from "./run-post-start-hooks.ts";
import { StartError } from "./start-error.ts";

/**
 * Starts a server; resolves when it is ready. In memory and without a port that takes milliseconds.
 */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const clock = options.clock ?? systemClock;
  if (clock instanceof VirtualClock && options.storage?.kind === "etcd") {
    throw new StartError("etcd keeps real time: a VirtualClock needs an embedded store");
  }
  const { storage: storageOptions = { kind: "memory" }, ...others } = options;
  const storage = await openStorage(storageOptions, clock);
  const hasDefaultOptions = storageOptions.kind === "memory" && isNeutral(others);
  try {
    const resolved = resolveOptions(options);
    if (storageOptions.kind === "etcd") {
      const { endpoints } = storageOptions;
      void reportUntilReached(storage.backend, { endpoints, clock, report: resolved.report });
    }
    const settings = { opened: storage, options: resolved, clock, hasDefaultOptions };
    return await startOn({ ...settings, inherited: undefined });
  } catch (error) {
    await storage.backend[Symbol.asyncDispose]();
    throw error;
  }
}

/** Time in ms after which a start reports that etcd has not responded. */
const silentMs = 2_000;

interface Reporting {
  readonly endpoints: readonly string[];
  readonly clock: Clock;
  readonly report: (message: string, error: unknown) => void;
}

/** Reports once if etcd does not respond soon; a call fails only after many attempts. */
async function reportUntilReached(
  backend: Backend,
  { endpoints, clock, report }: Reporting,
): Promise<void> {
  const reached = new AbortController();
  const what = `no response of etcd at ${endpoints.join(", ")}`;
  // The sleep rejects only if etcd responds, or the start fails, before its end.
  realClock(clock)
    .sleep(silentMs, reached.signal, { background: true })
    .then(
      () => report("Waiting for the store", what),
      () => undefined,
    );
  // The step of the start that needs the store reports the error.
  await backend.revision().catch(() => undefined);
  reached.abort(plannedEnd);
}

async function startOn(settings: ServerSettings): Promise<RunningServer> {
  const assembly = await assemble(await buildDependencies(settings));
  try {
    await runPostStartHooks(assembly);
  } catch (error) {
    assembly.life.abort(plannedEnd);
    await closeServer(assembly, { graceMs: 0 });
    throw error;
  }
  return running(assembly, runBackground(assembly));
}

/** Time that background work has to end at shutdown. */
const leavingMs = 3_000;

function running(assembly: Assembly, background: Promise<void>): RunningServer {
  const { clock, life, server, storage, token } = assembly;
  return {
    ...reachedAt(assembly),
    token,
    fetch: (path, init) => fetchInProcess(server, path, { ...init, token }),
    fork: async (changed) => snapshotOf(assembly).start(changed),
    snapshot: () => snapshotOf(assembly),
    close: async (closeOptions) => {
      await closeServer(assembly, closeOptions);
      life.abort(plannedEnd);
      const enough = new AbortController();
      const late = realClock(clock).sleep(leavingMs, enough.signal, { background: true });
      await Promise.race([background, late]);
      enough.abort(plannedEnd);
      // Ends requests to the store that are still pending.
      await storage.backend[Symbol.asyncDispose]();
      await background;
    },
  };
}

function snapshotOf(assembly: Assembly): ServerSnapshot {
  const { clock, options, storage } = assembly;
  if (storage.snapshot === undefined) throw new Error("only a server in memory can be forked");
  const open = storage.snapshot();
  const inheritance = inheritanceOf(assembly);
  const { from: _loaded, ...kept } = options;
  const startWith = (changed: StartOptions, inherited: Inheritance | undefined) => {
    const time = changed.clock ?? clock;
    const options = { ...kept, ...changed };
    return startOn({ opened: open(time), options, clock: time, inherited });
  };
  return {
    start: (changed = {}) => startWith(changed, isNeutral(changed) ? inheritance : undefined),
    restart: (changed = {}) => startWith(changed, undefined),
  };
}

function reachedAt(assembly: Assembly): Pick<RunningServer, "url" | "kubeconfig"> {
  const { options, server, credentials } = assembly;
  if (credentials === undefined) return { url: "", kubeconfig: "" };
  const url = `https://${urlHost(options.host ?? localhost)}:${server.address.port}`;
  const { generated, servingCa: serverCa } = credentials;
  if (generated === undefined) return { url, kubeconfig: "" };
  const credential = generated.admin;
  return { url, kubeconfig: kubeconfig({ url, serverCa, user: "admin", credential }) };
}

/** Audit events and spans of the last requests are flushed as well. */
async function closeServer(
  { server, auditing, closeTracing }: Assembly,
  options?: CloseOptions,
): Promise<void> {
  await server.close(options);
  await auditing.close();
  await closeTracing();
}
