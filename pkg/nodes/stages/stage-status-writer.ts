import type { Clock } from "#base";
import { type Client, WorkQueue } from "#client";
import { type Condition, type Stage, stagesOf } from "#kinds";
import { ignoreNotFound } from "#meta";
import { timeText } from "../identifiers.ts";
import type { StageRegistry } from "./stage-registry.ts";

interface StageStatusWriterOptions {
  readonly registry: StageRegistry;
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** Condition of a Stage with the reason of its rejection. */
const accepted = "Accepted";
const maxMessageLength = 1_024;

/** Writes the condition Accepted of rejected Stages, and of formerly rejected ones. */
export class StageStatusWriter {
  private readonly queue: WorkQueue;

  constructor(private readonly options: StageStatusWriterOptions) {
    this.queue = new WorkQueue({ ...options, name: "stage_status" });
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const stop = this.options.registry.onAcceptance((name) => this.queue.add(name));
    await this.queue.run((name) => this.sync(name));
    stop();
  }

  private async sync(name: string): Promise<void> {
    const { registry, client, report } = this.options;
    const { stage, fault } = registry.acceptanceOf(name) ?? {};
    if (stage === undefined) return;
    const condition = this.changed(stage, fault);
    if (condition === undefined) return;
    if (fault !== undefined) report(`Stage ${name} is not used`, fault);
    const others = stage.status?.conditions?.filter(({ type }) => type !== accepted) ?? [];
    const body = { status: { conditions: [...others, condition] } };
    const at = { name, subresource: "status" };
    await client.patch(stagesOf(client.domain), at, { type: "merge", body }).catch(ignoreNotFound);
  }

  /** The condition to write; undefined = up to date, or not needed. */
  private changed({ status }: Stage, fault: string | undefined): Condition | undefined {
    const known = status?.conditions?.find(({ type }) => type === accepted);
    const message = (fault ?? "").slice(0, maxMessageLength);
    if (fault === undefined && known?.status !== "False") return undefined;
    if (fault !== undefined && known?.status === "False" && known.message === message) {
      return undefined;
    }
    return {
      type: accepted,
      status: fault === undefined ? "True" : "False",
      reason: fault === undefined ? accepted : "NotSupported",
      message,
      lastTransitionTime: timeText(this.options.clock.now()),
    };
  }
}
