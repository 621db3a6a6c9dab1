import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";

interface TrackerOptions {
  /** Time in ms after which a connection without active requests is closed. */
  readonly idleTimeout: number;
  /** Whether the server accepts no more requests: connections are then closed once they are idle. */
  readonly isClosing: () => boolean;
}

/**
 * The connections of a server and the number of their active requests. A connection with an active
 * request is never idle, since a watch may be silent for long.
 */
export class ConnectionTracker {
  /** HTTP/2 connections, each with its idle timer. */
  private readonly sessions = new Map<ServerHttp2Session, NodeJS.Timeout>();
  /** Sockets of all connections. */
  private readonly sockets = new Set<Socket>();
  /** Number of active requests per HTTP/1.1 socket or HTTP/2 connection. */
  private readonly activeRequests = new Map<object, number>();
  /** Upgrades that wait for the earlier requests of their HTTP/1.1 socket. */
  private readonly waitingUpgrades = new Map<object, () => void>();
  private resolveIdle: (() => void) | undefined;

  constructor(private readonly options: TrackerOptions) {}

  trackSocket(socket: Socket): void {
    this.sockets.add(socket);
    socket.once("close", () => this.sockets.delete(socket));
    // Node's HTTP/2 server never closes idle HTTP/1.1 connections.
    if (usesHttp2(socket)) return;
    socket.setTimeout(this.options.idleTimeout);
    // Each request of a pipeline listens for the end of the connection.
    socket.setMaxListeners(0);
  }

  trackSession(session: ServerHttp2Session): void {
    // Node's session timeout is not used: every frame would rearm it, several times per request.
    const closeIfIdle = () => {
      if (!this.activeRequests.has(session)) session.close();
    };
    const idleTimer = setTimeout(closeIfIdle, this.options.idleTimeout).unref();
    this.sessions.set(session, idleTimer);
    session.once("close", () => {
      clearTimeout(idleTimer);
      this.sessions.delete(session);
    });
    session.on("error", () => undefined);
  }

  /** Counts a new request of an HTTP/1.1 socket or an HTTP/2 connection. */
  beginRequest(connection: object): void {
    this.activeRequests.set(connection, (this.activeRequests.get(connection) ?? 0) + 1);
  }

  /** Counts the end of a request; a closing server closes a connection without others. */
  endRequest(connection: object): void {
    const active = (this.activeRequests.get(connection) ?? 0) - 1;
    if (active > 0) {
      this.activeRequests.set(connection, active);
      if (active === 1) this.waitingUpgrades.get(connection)?.();
      return;
    }
    this.activeRequests.delete(connection);
    const session = connection as ServerHttp2Session;
    const idleTimer = this.sessions.get(session);
    idleTimer?.refresh();
    if (!this.options.isClosing()) return;
    if (idleTimer !== undefined) session.close();
    if (this.sockets.has(connection as Socket)) this.closeIfIdle(connection as Socket);
    if (this.activeRequests.size === 0) this.resolveIdle?.();
  }

  /**
   * Resolves when one request of a socket is left. An upgrade takes over the connection, so that the
   * responses to earlier requests of a pipeline must have been sent.
   */
  async untilOnlyRequest(socket: Socket): Promise<void> {
    if (this.activeRequests.get(socket) === 1) return;
    await new Promise<void>((resolve) => this.waitingUpgrades.set(socket, resolve));
    this.waitingUpgrades.delete(socket);
  }

  /** Destroys a socket whose idle timeout has passed, unless it has an active request. */
  destroyIfIdle(socket: Socket): void {
    if (!this.activeRequests.has(socket)) socket.destroy();
  }

  /** Closes idle connections; HTTP/2 connections get GOAWAY, and end with their active requests. */
  close(): void {
    for (const session of this.sessions.keys()) session.close();
    for (const socket of this.sockets) this.closeIfIdle(socket);
  }

  /** Destroys all connections and their active requests. */
  destroy(): void {
    for (const session of this.sessions.keys()) session.destroy();
    for (const socket of this.sockets) socket.destroy();
    this.activeRequests.clear();
    this.resolveIdle?.();
  }

  /** Resolves when no request is active. */
  untilIdle(): Promise<void> {
    if (this.activeRequests.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.resolveIdle = resolve;
    });
  }

  /** Closes an idle HTTP/1.1 connection; an HTTP/2 connection closes itself after GOAWAY. */
  private closeIfIdle(socket: Socket): void {
    if (!usesHttp2(socket) && !this.activeRequests.has(socket)) socket.end();
  }
}

function usesHttp2(socket: Socket): boolean {
  return (socket as { alpnProtocol?: string | false }).alpnProtocol === "h2";
}
