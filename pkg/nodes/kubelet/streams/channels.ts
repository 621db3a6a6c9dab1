/** Channels of a WebSocket: each message starts with the number of its channel. */
import {
  offeredProtocols,
  rejectUpgrade,
  type Upgrade,
  WebSocketConnection,
} from "./web-socket.ts";

/** A subprotocol, without the API's domain. */
export interface ChannelProtocol {
  /** Such as `v4.channel`; "" = the client offers none. */
  readonly name: string;
  /** Whether messages are text: a digit and base64. */
  readonly isBase64: boolean;
}

export interface ChannelHandlers {
  message(channel: number, data: Buffer): void;
  end(): void;
}

/** Accepts the handshake with the first offered protocol that is known, or rejects it with 403. */
export function acceptChannels(
  upgrade: Upgrade,
  { known, api }: { readonly known: readonly string[]; readonly api: string },
): Channels | undefined {
  const name = offeredChannels(upgrade, { known, api });
  if (name === undefined) {
    rejectUpgrade(upgrade.socket, 403, "");
    return undefined;
  }
  const connection = WebSocketConnection.accept(upgrade, name === "" ? "" : `${name}.${api}`);
  if (connection === undefined) return undefined;
  return new Channels(connection, { name, isBase64: name.includes("base64.") });
}

/** The first known protocol that the client offers; undefined if it offers only others. */
function offeredChannels(
  { request }: Upgrade,
  { known, api }: { readonly known: readonly string[]; readonly api: string },
): string | undefined {
  const offered = offeredProtocols(request);
  if (offered.length === 0) return "";
  const names = new Map(known.map((name) => [`${name}.${api}`, name]));
  return offered.map((full) => names.get(full)).find((name) => name !== undefined);
}

export class Channels {
  constructor(
    private readonly connection: WebSocketConnection,
    readonly protocol: ChannelProtocol,
  ) {}

  /** Sends a message; calls `sent` when the socket has accepted it. */
  send(channel: number, data: Uint8Array | string, sent?: (error?: Error | null) => void): void {
    const bytes = Buffer.from(data);
    if (this.protocol.isBase64) {
      this.connection.sendText(`${channel}${bytes.toString("base64")}`, sent);
    } else this.connection.send(Buffer.concat([Buffer.of(channel), bytes]), sent);
  }

  listen({ message, end }: ChannelHandlers): void {
    this.connection.listen({
      message: (data) => {
        const [first] = data;
        if (first === undefined) return;
        if (!this.protocol.isBase64) return message(first, data.subarray(1));
        const text = data.subarray(1).toString("latin1");
        if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
          message(first - "0".charCodeAt(0), Buffer.from(text, "base64"));
        }
      },
      end,
    });
  }

  /** Pauses or resumes delivery; a partly received message may still follow. */
  pause(isPaused: boolean): void {
    this.connection.pause(isPaused);
  }

  close(): void {
    this.connection.close();
  }
}
