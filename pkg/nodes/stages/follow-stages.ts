import { setMaxListeners } from "node:events";
import type { Clock, Random } from "#base";
import { type Client, Informer, type Informers } from "#client";
import { type Condition, type Stage, stagesOf } from "#kinds";
import { ignoreNotFound, StatusError } from "#meta";
import { timeText } from "../identifiers.ts";
import type { StageBook } from "./stage-book.ts";
import {
  type Definition,
  definitionsOf,
  installStages,
  stageDefinitionName,
} from "./stage-definition.ts";

export interface FollowStagesOptions {
  readonly book: StageBook;
  readonly client: Client;
  readonly informers: Informers;
  /** Creates the definition of Stages unless there is one. */
  readonly installs: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** Condition of a Stage that says why it is not used. */
const accepted = "Accepted";
const longestMessage = 1_024;

/**
 * Keeps the book of Stages like those of the API server, for as long as it serves them, until the
 * signal aborts. Stages that cannot be used get a condition that says why.
 */
export class StageFollower {
  private following:
    | { readonly life: AbortController; readonly informer: Informer<Stage> }
    | undefined;
  private readonly running = new Set<Promise<void>>();

  constructor(private readonly options: FollowStagesOptions) {}

  /** Resolves when all Stages of now are known. */
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

  /** Resolves when everything has ended, which it does when the signal aborts. */
  async ended(): Promise<void> {
    this.leave();
    while (this.running.size > 0) await Promise.all(this.running);
  }

  private async install(): Promise<void> {
    const { client, report } = this.options;
    try {
      await installStages(client);
    } catch (error) {
      const isThere = error instanceof StatusError && error.status.reason === "AlreadyExists";
      if (!isThere) report("Failed to create the CustomResourceDefinition of Stages", error);
    }
  }

  private follow(): void {
    if (this.following !== undefined || this.options.signal.aborted) return;
    const { client, book, signal } = this.options;
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    signal.addEventListener("abort", () => life.abort(), { once: true, signal: life.signal });
    const resource = stagesOf(client.domain);
    const informer = new Informer<Stage>({ ...this.options, resource, signal: life.signal });
    informer.subscribe(({ type, object }) => {
      if (type === "deleted") return book.remove(object.metadata.name);
      const fault = book.put(object);
      this.track(this.tell(object, fault));
    });
    this.following = { life, informer };
    this.track(informer.run());
  }

  private leave(): void {
    this.following?.life.abort();
    this.following = undefined;
    this.options.book.clear();
  }

  private track(work: Promise<void>): void {
    const tracked = work.finally(() => this.running.delete(tracked));
    this.running.add(tracked);
  }

  /** Writes the condition of a Stage where that has changed. */
  private async tell(stage: Stage, fault: string | undefined): Promise<void> {
    const { client, clock, report, signal } = this.options;
    const { name } = stage.metadata;
    const known = stage.status?.conditions?.find(({ type }) => type === accepted);
    const message = (fault ?? "").slice(0, longestMessage);
    if (known?.status !== "False" && fault === undefined) return;
    if (known?.status === "False" && known.message === message) return;
    if (fault !== undefined) report(`Stage ${name} is not used`, fault);
    const condition: Condition = {
      type: accepted,
      status: fault === undefined ? "True" : "False",
      reason: fault === undefined ? accepted : "NotSupported",
      message,
      lastTransitionTime: timeText(clock.now()),
    };
    const others = stage.status?.conditions?.filter(({ type }) => type !== accepted) ?? [];
    const body = { status: { conditions: [...others, condition] } };
    const at = { name, subresource: "status" };
    try {
      await client
        .patch(stagesOf(client.domain), at, { type: "merge", body })
        .catch(ignoreNotFound);
    } catch (error) {
      if (!signal.aborted) report(`Failed to write the status of Stage ${name}`, error);
    }
  }
}

function isEstablished({ status }: Definition): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True") ===
    true
  );
}
