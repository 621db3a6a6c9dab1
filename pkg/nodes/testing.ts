import { setMaxListeners } from "node:events";
import { seededRandom } from "#base";
import { Informers, RegistryClient } from "#client";
import type { Pod } from "#kinds";
import { noInstruments, type User } from "#request";
import { type TestRegistry, testRegistry } from "../registry/testing.ts";
import { defaultNodesSettings, type NodesContext, type NodesSettings } from "./settings.ts";
import { runNodes } from "./simulated-nodes.ts";
import type { StageSource } from "./stages/testing.ts";

/** Simulated nodes on an in-memory registry, whose clock advances only by `pass`. */
export interface NodesTest {
  readonly test: TestRegistry;
  /** Reported errors: `what: error`. */
  readonly reports: readonly string[];
  /** Advances time in steps of at most a second and runs everything that becomes due. */
  pass(ms: number): Promise<void>;
  /** Creates a pod in namespace `ns` on `hollow-0` and waits until the node observes it. */
  createPod(
    name: string,
    pod: { readonly metadata?: object; readonly spec?: object },
  ): Promise<Pod>;
  pod(name: string): Promise<Pod>;
  stop(): Promise<void>;
}

const stepMs = 1_000;
/** Turns of the event loop after which in-process calls have completed. */
const turns = 30;

const settle = async () => {
  for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
};

export async function startNodes(
  changed: Partial<NodesSettings> = {},
  known?: TestRegistry,
  stages?: StageSource,
): Promise<NodesTest> {
  const test = known ?? (await testRegistry({ namespaces: ["ns", "default", "kube-node-lease"] }));
  const life = new AbortController();
  setMaxListeners(0, life.signal);
  const reports: string[] = [];
  const client = (name: string) => {
    const user: User = { name, uid: "", groups: [], extra: new Map() };
    return new RegistryClient({ ...test, user, userAgent: "test", signal: life.signal });
  };
  const common = {
    clock: test.clock,
    // A restarted process generates different names.
    random: seededRandom(known === undefined ? 1 : 2),
    signal: life.signal,
    report: (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`),
  };
  const informers = new Informers({ ...common, client: client("informers") });
  const context: NodesContext = {
    ...common,
    informers,
    nodesClient: stages?.served(client("nodes")),
    stageClients: { client: client("stages"), as: async (username) => client(username) },
    clientOf: (node) => client(`system:node:${node}`),
    storageClient: client("storage"),
    instruments: noInstruments,
  };
  const defaults = { ...defaultNodesSettings, installsStages: stages !== undefined };
  const running = runNodes(context, { ...defaults, ...changed });
  const pod = async (name: string): Promise<Pod> => (await test.get(`v1/pods/ns/${name}`)).object;
  await settle();
  return {
    test,
    reports,
    pod,
    pass: async (ms) => {
      await settle();
      for (let left = ms; left > 0; left -= stepMs) {
        test.clock.advance(Math.min(stepMs, left));
        await settle();
      }
    },
    createPod: async (name, { metadata, spec }) => {
      const containers = [{ name: "app", image: "nginx" }];
      const whole = { nodeName: "hollow-0", containers, ...spec };
      await test.post("v1/pods/ns", { metadata: { name, ...metadata }, spec: whole });
      await settle();
      return pod(name);
    },
    stop: async () => {
      life.abort();
      await running;
      await informers.ended();
    },
  };
}
