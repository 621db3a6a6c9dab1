import type { ApiObject, Client, Handle, Patch, Place, WatchEvent } from "#client";
import { AsyncQueue } from "#base";
import type { Stage, StageSpec } from "#kinds";

/** Stages of a test, which a client serves as custom resources. */
export class StageSource {
  private readonly stages = new Map<string, Stage>();
  private readonly watchers = new Set<AsyncQueue<WatchEvent<Stage>>>();
  private version = 1;

  get(name: string): Stage | undefined {
    return this.stages.get(name);
  }

  put(name: string, spec: StageSpec): void {
    const known = this.stages.get(name);
    const generation = Number(known?.metadata.generation ?? 0) + 1;
    this.store({ ...known, ...this.metadata(name, generation), spec });
  }

  remove(name: string): void {
    const object = this.stages.get(name)!;
    this.stages.delete(name);
    for (const watcher of this.watchers) watcher.push({ type: "DELETED", object });
  }

  /** Returns a client that also serves these Stages. */
  served(client: Client): Client {
    const isStage = ({ plural }: Handle) => plural === "stages";
    const own: Pick<Client, "watch" | "patch"> = {
      watch: <T extends ApiObject>(
        resource: Handle<T>,
        options: Parameters<Client["watch"]>[1],
      ) => {
        if (!isStage(resource)) return client.watch(resource, options);
        return this.watch(options.signal) as unknown as AsyncIterable<WatchEvent<T>>;
      },
      patch: async <T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch) => {
        if (!isStage(resource)) return client.patch(resource, at, patch);
        return this.patchStatus(at.name ?? "", patch) as unknown as T;
      },
    };
    return Object.assign(Object.create(client) as Client, own);
  }

  private store(stage: Stage): Stage {
    this.stages.set(stage.metadata.name, stage);
    for (const watcher of this.watchers) watcher.push({ type: "MODIFIED", object: stage });
    return stage;
  }

  private metadata(name: string, generation: number): Pick<Stage, "metadata"> {
    const resourceVersion = String(++this.version);
    return { metadata: { name, uid: `uid-${name}`, resourceVersion, generation } };
  }

  private patchStatus(name: string, { body }: Patch): Stage {
    const known = this.stages.get(name)!;
    const { status } = body as Pick<Stage, "status">;
    const { metadata } = this.metadata(name, Number(known.metadata.generation));
    return this.store({ ...known, metadata, ...(status === undefined ? {} : { status }) });
  }

  private watch(signal: AbortSignal | undefined): AsyncIterable<WatchEvent<Stage>> {
    const queue: AsyncQueue<WatchEvent<Stage>> = new AsyncQueue(1_000, () =>
      this.watchers.delete(queue),
    );
    for (const object of this.stages.values()) queue.push({ type: "ADDED", object });
    const resourceVersion = String(this.version);
    queue.push({ type: "BOOKMARK", resourceVersion, initialEventsEnd: true });
    this.watchers.add(queue);
    signal?.addEventListener("abort", () => queue.end(), { once: true });
    return queue;
  }
}
