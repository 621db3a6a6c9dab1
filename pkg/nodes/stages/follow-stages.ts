import { setMaxListeners } from "node:events";
import type { Clock, Random } from "#base";
import { type Client, Informer, type Informers } from "#client";
import { type Stage, stagesOf } from "#kinds";
import { isAlreadyExists } from "#meta";
import type { StageRegistry } from "./stage-registry.ts";
import {
  type Definition,
  definitionsOf,
  installStages,
  stageDefinitionName,
} from "./stage-definition.ts";

export interface FollowStagesOptions {
  readonly registry: StageRegistry;
  readonly client: Client;
  readonly informers: Informers;
  /** Whether to create a missing CustomResourceDefinition of Stages. */
  readonly installs: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** Keeps the registry in sync with the Stages of the API server, while it serves them. */
export class StageFollower {
  private following:
    | { readonly life: AbortController; readonly informer: Informer<Stage> }
    | undefined;
  private readonly running = new Set<Promise<void>>();

  constructor(private readonly options: FollowStagesOptions) {}

  /** Starts; resolves when all existing Stages are known. */
  async start(): Promise<void> {
    const { client, informers, installs } = this.options;
    if (installs) await this.install();
    const fieldSelector = `metadata.name=${stageDefinitionName(client.domain)}`;
    const definitions = informers.of(definitionsOf(client.domain), { fieldSelector });
    definitions.subscribe(({ type, object }) => {
      if (type !== "deleted" && isEstablished(object)) this.follow();
      else if (type === "deleted") this.leave();
    });
    await definitions.untilSynced();
    await this.following?.informer.untilSynced();
  }

  /** Resolves when everything has stopped after the signal aborted. */
  async ended(): Promise<void> {
    this.leave();
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private async install(): Promise<void> {
    const { client, report, signal } = this.options;
    try {
      await installStages(client);
    } catch (error) {
      if (isAlreadyExists(error) || signal.aborted) return;
      report("Failed to create the CustomResourceDefinition of Stages", error);
    }
  }

  private follow(): void {
    if (this.following !== undefined || this.options.signal.aborted) return;
    const { client, registry, signal } = this.options;
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    signal.addEventListener("abort", () => life.abort(), { once: true, signal: life.signal });
    const resource = stagesOf(client.domain);
    const informer = new Informer<Stage>({ ...this.options, resource, signal: life.signal });
    informer.subscribe(({ type, object }) => {
      if (type === "deleted") registry.remove(object.metadata.name);
      else registry.put(object);
    });
    this.following = { life, informer };
    this.track(informer.run());
  }

  private leave(): void {
    this.following?.life.abort();
    this.following = undefined;
    this.options.registry.clear();
  }

  private track(work: Promise<void>): void {
    const tracked = work.finally(() => this.running.delete(tracked));
    this.running.add(tracked);
  }
}

function isEstablished({ status }: Definition): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True") ===
    true
  );
}
