import { type Clock, hostAndPort } from "#base";
import type { DialTarget } from "#request";
import type { BackendResponse } from "../contract.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { BackendTls } from "./dial.ts";
import type { OutgoingRequest } from "./http1-request.ts";

interface Pooled {
  readonly pool: ConnectionPool;
  /** Number of requests in flight. */
  activeRequests: number;
  timer: NodeJS.Timeout | undefined;
}

/** Time in ms after the last request until a pool is closed. */
const idleMs = 90_000;

/** Connection pools by address and TLS settings. */
export class ConnectionPools {
  private readonly pools = new Map<string, Pooled>();

  constructor(private readonly options: { readonly clock: Clock; readonly signal: AbortSignal }) {}

  /** @throws BackendError, or the signal's reason */
  async send(
    address: DialTarget,
    tls: BackendTls,
    outgoing: OutgoingRequest,
  ): Promise<BackendResponse> {
    const key = `${hostAndPort(address)} ${tls.key}`;
    const pooled = this.pooled(key, address, tls);
    pooled.activeRequests += 1;
    clearTimeout(pooled.timer);
    let isOver = false;
    const onClose = () => {
      if (isOver) return;
      isOver = true;
      outgoing.onClose();
      pooled.activeRequests -= 1;
      if (pooled.activeRequests === 0) this.closeWhenIdle(key, pooled);
    };
    try {
      return await pooled.pool.send({ ...outgoing, onClose });
    } catch (error) {
      onClose();
      throw error;
    }
  }

  private pooled(key: string, address: DialTarget, tls: BackendTls): Pooled {
    const known = this.pools.get(key);
    if (known !== undefined) return known;
    const pool = new ConnectionPool({ ...this.options, address, tls });
    const made: Pooled = { pool, activeRequests: 0, timer: undefined };
    this.pools.set(key, made);
    return made;
  }

  private closeWhenIdle(key: string, pooled: Pooled): void {
    pooled.timer = setTimeout(() => {
      this.pools.delete(key);
      pooled.pool.close();
    }, idleMs).unref();
  }
}
