import type { Clock } from "#base";
import { WorkQueue } from "#client";
import type { Instruments } from "#request";
import { type ApiServices, isAvailable, type RemoteApiService } from "../api-services.ts";
import { mayChangeResponses, remoteApiService } from "../download/remote-api-service.ts";

/** Delays in ms, kube-apiserver's: after a change of the APIService, and after a download. */
const changedMs = 1_000;
const successMs = 60_000;
const maxFailureMs = 3_600_000;
/** Concurrent downloads, so that a slow server does not delay the others. */
const workers = 16;

export interface ScheduleOptions {
  readonly apiServices: ApiServices;
  readonly clock: Clock;
  readonly instruments: Instruments;
  /** Aborts to stop the downloads. */
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

export interface ScheduledDownload {
  /** Name of the work queue. */
  readonly name: string;
  /** Downloads the document and stores the result; resolves to false if the server has none. */
  readonly download: (apiService: RemoteApiService) => Promise<boolean>;
  /** Called when the APIService was deleted or has no Service any more. */
  readonly remove: (name: string) => void;
}

interface Scheduled {
  readonly apiService: RemoteApiService;
  readonly failures: number;
}

/**
 * Downloads a document from the server of each APIService: every minute, with exponential backoff up to
 * an hour after failures, and a second after the APIService or its availability has changed.
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
    for (const { metadata } of apiServices.list()) this.onApiServiceChange(metadata.name);
    const unsubscribe = apiServices.onChange((name) => this.onApiServiceChange(name));
    signal.addEventListener("abort", unsubscribe, { once: true });
  }

  /** Downloads until the signal aborts. */
  async run(): Promise<void> {
    await this.queue.run((name) => this.sync(name), { workers });
  }

  private onApiServiceChange(name: string): void {
    const { apiServices } = this.options;
    const apiService = remoteApiService(apiServices, name);
    const known = this.scheduled.get(name);
    if (apiService === undefined) {
      if (this.scheduled.delete(name)) this.download.remove(name);
      return;
    }
    const isNew = known === undefined || mayChangeResponses(known.apiService, apiService);
    this.scheduled.set(name, { apiService, failures: isNew ? 0 : known.failures });
    if (isNew) this.queue.addAfter(name, changedMs);
  }

  private async sync(name: string): Promise<void> {
    const before = this.scheduled.get(name);
    if (before === undefined) return;
    const { apiService, failures } = before;
    try {
      const exists = await this.download.download(apiService);
      this.recordResult(name, apiService, 0);
      if (exists) this.queue.addAfter(name, successMs);
    } catch (error) {
      const { report, signal } = this.options;
      if (signal.aborted) return;
      if (isAvailable(apiService)) report(`${this.download.name}: ${name}`, error);
      this.recordResult(name, apiService, failures + 1);
      this.queue.addAfter(name, Math.min(successMs * 2 ** failures, maxFailureMs));
    }
  }

  private recordResult(name: string, apiService: RemoteApiService, failures: number): void {
    const now = this.scheduled.get(name);
    // An APIService that changed during the download has another one scheduled already.
    if (now?.apiService === apiService) this.scheduled.set(name, { apiService, failures });
    else if (now === undefined) this.download.remove(name);
  }
}
