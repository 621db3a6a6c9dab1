import { abortable } from "./abortable.ts";

interface PendingCall<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  /** Number of callers that wait for the result. */
  callers: number;
}

/**
 * Coalesces concurrent calls with the same key. A caller stops waiting when its signal aborts; the call is
 * aborted when no caller is left, so that it does not hold its connection.
 */
export class SharedCalls<T> {
  private readonly pending = new Map<string, PendingCall<T>>();

  /**
   * Joins the pending call of the key, or starts one.
   * @throws the signal's reason, or what the call throws
   */
  async join(
    key: string,
    signal: AbortSignal | undefined,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const call = this.pending.get(key) ?? this.begin(key, start);
    call.callers++;
    try {
      return await abortable(call.result, signal);
    } finally {
      call.callers--;
      if (call.callers === 0 && this.pending.get(key) === call) {
        this.pending.delete(key);
        call.controller.abort();
      }
    }
  }

  private begin(key: string, start: (signal: AbortSignal) => Promise<T>): PendingCall<T> {
    const controller = new AbortController();
    const result = start(controller.signal).finally(() => {
      if (this.pending.get(key) === call) this.pending.delete(key);
    });
    const call: PendingCall<T> = { result, controller, callers: 0 };
    this.pending.set(key, call);
    return call;
  }
}
