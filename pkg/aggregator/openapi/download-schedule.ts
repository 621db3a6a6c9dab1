import type { Clock } from "#base";
import { WorkQueue } from "#client";
import type { Instruments } from "#request";
import { type ApiServices, isAvailable, type RemoteApiService } from "../api-services.ts";
import { mayAnswerOtherwise, remoteApiService } from "../download/remote-api-service.ts";

/** Delays of kube-apiserver: after an APIService has changed, and between two downloads. */
const changedMs = 1_000;
const successMs = 60_000;
const longestFailureMs = 3_600_000;
/** Documents that are downloaded concurrently: a slow server delays no other. */
const workers = 16;

export interface ScheduleOptions {
  readonly apiServices: ApiServices;
  readonly clock: Clock;
  readonly instruments: Instruments;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

export interface ScheduledDownload {
  /** Name of the work queue. */
  readonly name: string;
  /** Updates what is known of the server; false = it has no such document. */
  readonly update: (apiService: RemoteApiService) => Promise<boolean>;
  /** The APIService is deleted, or names no server any more. */
  readonly remove: (name: string) => void;
}

interface Scheduled {
  readonly apiService: RemoteApiService;
  readonly failures: number;
}

/**
 * Downloads a document of each server that an APIService names: every minute, less and less often
 * while that fails, and soon after the APIService or its availability has changed.
 */
export class DownloadSchedule {
  private readonly scheduled = new Map<string, Scheduled>();
  private readonly queue: WorkQueue;

  constructor(
    private readonly options: ScheduleOptions,
    private readonly download: ScheduledDownload,
  ) {
    this.queue = new WorkQueue({ ...options, name: download.name });
    const { apiServices, signal } = options;
    for (const { metadata } of apiServices.list()) this.changed(metadata.name);
    const forget = apiServices.onChange((name) => this.changed(name));
    signal.addEventListener("abort", forget, { once: true });
  }

  /** Until the signal aborts. */
  async run(): Promise<void> {
    await this.queue.run((name) => this.work(name), { workers });
  }

  private changed(name: string): void {
    const { apiServices } = this.options;
    const apiService = remoteApiService(apiServices, name);
    const known = this.scheduled.get(name);
    if (apiService === undefined) {
      if (this.scheduled.delete(name)) this.download.remove(name);
      return;
    }
    const isNew = known === undefined || mayAnswerOtherwise(known.apiService, apiService);
    this.scheduled.set(name, { apiService, failures: isNew ? 0 : known.failures });
    if (isNew) this.queue.addAfter(name, changedMs);
  }

  private async work(name: string): Promise<void> {
    const before = this.scheduled.get(name);
    if (before === undefined) return;
    const { apiService, failures } = before;
    try {
      const exists = await this.download.update(apiService);
      this.note(name, apiService, 0);
      if (exists) this.queue.addAfter(name, successMs);
    } catch (error) {
      const { report, signal } = this.options;
      if (signal.aborted) return;
      if (isAvailable(apiService)) report(`${this.download.name}: ${name}`, error);
      this.note(name, apiService, failures + 1);
      this.queue.addAfter(name, Math.min(successMs * 2 ** failures, longestFailureMs));
    }
  }

  private note(name: string, apiService: RemoteApiService, failures: number): void {
    const now = this.scheduled.get(name);
    // A change meanwhile has scheduled a download of its own.
    if (now?.apiService === apiService) this.scheduled.set(name, { apiService, failures });
    else if (now === undefined) this.download.remove(name);
  }
}
