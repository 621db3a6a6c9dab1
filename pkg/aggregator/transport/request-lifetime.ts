import { BackendError, type BackendRequest } from "../contract.ts";

/** Lifetime of a request across its attempts, bounded by the caller's signal and the timeout. */
export class RequestLifetime {
  private readonly life = new AbortController();
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly abort = () => this.life.abort(this.request.signal.reason);

  constructor(private readonly request: Pick<BackendRequest, "signal" | "timeoutMs">) {
    const { signal, timeoutMs } = request;
    if (signal.aborted) this.abort();
    else signal.addEventListener("abort", this.abort, { once: true });
    if (timeoutMs === undefined) return;
    const reason = new BackendError("timeout", "context deadline exceeded");
    this.timer = setTimeout(() => this.life.abort(reason), timeoutMs);
  }

  /** Runs an attempt. After a successful one, the lifetime ends when `onClose` has been called. */
  async attempt<T>(
    run: (own: { readonly signal: AbortSignal; readonly onClose: () => void }) => Promise<T>,
  ): Promise<T> {
    let hasSucceeded = false;
    let isClosed = false;
    const onClose = () => {
      isClosed = true;
      if (hasSucceeded) this.end();
    };
    const result = await run({ signal: this.life.signal, onClose });
    hasSucceeded = true;
    if (isClosed) this.end();
    return result;
  }

  /** Releases the timer and the listener; the signal does not abort any more. */
  end(): void {
    clearTimeout(this.timer);
    this.request.signal.removeEventListener("abort", this.abort);
  }
}
