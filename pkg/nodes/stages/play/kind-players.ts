import { setMaxListeners } from "node:events";
import { EventRecorder, Informer } from "#client";
import { noInstruments } from "#request";
import { prefix } from "../../annotations.ts";
import type { NodesContext, NodesSettings } from "../../settings.ts";
import { noMatchesFor, type ServedKinds } from "./served-kinds.ts";
import type { StageRegistry } from "../stage-registry.ts";
import type { StageClients } from "./stage-clients.ts";
import { type StagedKind, type StagedObject, typeMetaOf } from "../stage-kinds.ts";
import { type StageHost, StagePlayer, type StagePlayerOptions } from "./stage-player.ts";

interface KindPlayersOptions {
  readonly context: NodesContext;
  readonly settings: NodesSettings;
  readonly registry: StageRegistry;
  readonly clients: StageClients;
  readonly served: ServedKinds;
  readonly randomOf: StagePlayerOptions<StagedObject>["randomOf"];
}

/** Retry interval in ms for a kind that is not served. */
const retryMs = 10_000;
/** Host of objects of other kinds, which have no node. */
const noHost: StageHost = {
  nodeName: "",
  nodeAddress: "",
  nodePort: 0,
  podAddress: () => undefined,
};

/** Applies Stages to objects of kinds other than Pod and Node, with one watch per selected kind. */
export class KindPlayers {
  private readonly players = new Map<StagedKind, AbortController>();
  private readonly running = new Set<Promise<void>>();
  private readonly recorder: EventRecorder;

  constructor(private readonly options: KindPlayersOptions) {
    const { context, settings, clients } = options;
    const controller = `${prefix}/stages`;
    const instance = settings.namePrefix;
    this.recorder = new EventRecorder({ ...context, client: clients.client, controller, instance });
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const stop = this.options.registry.onChange(() => this.refresh());
    this.refresh();
    await this.recorder.run();
    stop();
    for (const life of this.players.values()) life.abort();
    await Promise.all(this.running);
  }

  private refresh(): void {
    const { registry, context } = this.options;
    const wanted = new Set(registry.otherKinds());
    for (const [kind, life] of this.players) if (!wanted.has(kind)) this.leave(kind, life);
    if (context.signal.aborted) return;
    for (const kind of wanted) if (!this.players.has(kind)) this.follow(kind);
  }

  private follow(kind: StagedKind): void {
    const { signal } = this.options.context;
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    signal.addEventListener("abort", () => life.abort(), { once: true, signal: life.signal });
    this.players.set(kind, life);
    const running = this.play(kind, life.signal).finally(() => this.running.delete(running));
    this.running.add(running);
  }

  private leave(kind: StagedKind, life: AbortController): void {
    this.players.delete(kind);
    life.abort();
    this.options.registry.setKindFault(kind, undefined);
  }

  private async play(kind: StagedKind, signal: AbortSignal): Promise<void> {
    const { context, settings, registry, clients, served, randomOf } = this.options;
    const resource = await this.resourceOf(kind, signal);
    if (resource === undefined) return;
    const { client } = clients;
    const refuse = (what: string, error: unknown) => {
      if (signal.aborted) return;
      context.report(what, error);
      registry.setKindFault(kind, error instanceof Error ? error.message : String(error));
    };
    const common = { ...context, resource, client, signal };
    const informer = new Informer<StagedObject>({ ...common, report: refuse });
    informer.subscribe(() => registry.setKindFault(kind, undefined));
    void informer.untilSynced().then(() => registry.setKindFault(kind, undefined));
    const player = new StagePlayer<StagedObject>({
      ...common,
      // No metrics: kinds change with Stages, and queue metrics would remain.
      instruments: noInstruments,
      kind,
      registry,
      clients,
      served,
      informer,
      randomOf,
      recorder: this.recorder,
      version: settings.kubeletVersion,
      hostOf: () => noHost,
      isForeign: () => false,
      onGone: () => undefined,
    });
    await Promise.all([informer.run(), player.run()]);
  }

  /** Waits until a kind is served; undefined = the signal aborted. */
  private async resourceOf(kind: StagedKind, signal: AbortSignal) {
    const { context, registry, served } = this.options;
    const type = typeMetaOf(kind);
    while (!signal.aborted) {
      try {
        const resource = await served.find(type.apiVersion, type.kind);
        if (resource !== undefined) return resource;
        registry.setKindFault(kind, noMatchesFor(kind));
      } catch (error) {
        context.report(`Failed to discover the resource of ${kind}`, error);
      }
      await context.clock.sleep(retryMs, signal, { background: true }).catch(() => undefined);
    }
    return undefined;
  }
}
