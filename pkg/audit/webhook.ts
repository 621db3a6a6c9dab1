import type { WebhookClient } from "#request";
import type { Backend, OnLoss } from "./backend.ts";
import { type AuditEvent, eventJson } from "./event.ts";

/** Webhook backend: POSTs an EventList. */
export class WebhookBackend implements Backend {
  constructor(
    private readonly client: WebhookClient,
    private readonly options: WebhookBackendOptions,
  ) {}

  async write(events: readonly AuditEvent[]): Promise<void> {
    const { apiVersion, onLoss, signal } = this.options;
    try {
      await this.client.send(listJson(events, apiVersion), signal);
    } catch (error) {
      onLoss("webhook", error, events.length);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.client.close();
  }
}

interface WebhookBackendOptions {
  readonly apiVersion: string;
  readonly onLoss: OnLoss;
  /** Aborts pending calls and retries. */
  readonly signal: AbortSignal;
}

function listJson(events: readonly AuditEvent[], apiVersion: string): string {
  const items = events.map((event) => eventJson(event, undefined)).join(",");
  const head = `"kind":"EventList","apiVersion":${JSON.stringify(apiVersion)}`;
  return `{${head},"metadata":{},"items":[${items}]}`;
}
