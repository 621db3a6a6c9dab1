/** Connection errors with the messages of Go's net, crypto/tls and crypto/x509. */
export interface DialPlace {
  readonly host: string;
  readonly port: string | number;
}

/** Errors of connect(2), in the words of Go's syscall package. */
const connectFailures: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  EHOSTDOWN: "host is down",
  ENETUNREACH: "network is unreachable",
  ENETDOWN: "network is down",
  EADDRNOTAVAIL: "cannot assign requested address",
  EADDRINUSE: "address already in use",
  EAFNOSUPPORT: "address family not supported by protocol",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EINVAL: "invalid argument",
  ENOBUFS: "no buffer space available",
};
/** Errors of socket(2). */
const socketFailures: Readonly<Record<string, string>> = {
  EMFILE: "too many open files",
  ENFILE: "too many open files in system",
};
/** TLS alerts by number (RFC 8446, section 6), in the words of crypto/tls. */
const alerts: Readonly<Record<number, string>> = {
  10: "unexpected message",
  20: "bad record MAC",
  21: "decryption failed",
  22: "record overflow",
  30: "decompression failure",
  40: "handshake failure",
  42: "bad certificate",
  43: "unsupported certificate",
  44: "revoked certificate",
  45: "expired certificate",
  46: "unknown certificate",
  47: "illegal parameter",
  48: "unknown certificate authority",
  49: "access denied",
  50: "error decoding message",
  51: "error decrypting message",
  60: "export restriction",
  70: "protocol version not supported",
  71: "insufficient security level",
  80: "internal error",
  86: "inappropriate fallback",
  90: "user canceled",
  100: "no renegotiation",
  109: "missing extension",
  110: "unsupported extension",
  111: "certificate unobtainable",
  112: "unrecognized name",
  113: "bad certificate status response",
  114: "bad certificate hash value",
  115: "unknown PSK identity",
  116: "certificate required",
  120: "no application protocol",
};
const plainResponse = "http: server gave HTTP response to HTTPS client";
/** Other errors of a connection, by Node's code. */
const connectionFailures: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: plainResponse,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: plainResponse,
  ERR_SSL_HTTP_REQUEST: plainResponse,
  ERR_SSL_UNEXPECTED_EOF_WHILE_READING: "EOF",
  HPE_INVALID_EOF_STATE: "unexpected EOF",
  HPE_HEADER_OVERFLOW: "net/http: server response headers exceeded 1048576 bytes; aborted",
};

/** `10.0.0.9:80`, `[fd00::9]:80`. */
export function hostAndPort({ host, port }: DialPlace): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

export function dialTimedOut(place: DialPlace): string {
  return `dial tcp ${hostAndPort(place)}: i/o timeout`;
}

/** An error of Node's sockets; `address` and `port` are present if an attempt to connect failed. */
interface SocketError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  /** Bytes that are no HTTP response. */
  readonly rawPacket?: Uint8Array;
}

/**
 * Go's message for Node's error of a connection to `place`. Go names the dialled address, the first of
 * those that a name resolves to.
 */
export function dialFailure(place: DialPlace, failure: SocketError): string {
  const error = firstAttempt(failure);
  const { code = "", syscall = "", message } = error;
  const address = { host: error.address ?? place.host, port: error.port ?? place.port };
  const dial = `dial tcp ${hostAndPort(address)}`;
  if (Object.hasOwn(connectFailures, code)) return `${dial}: connect: ${connectFailures[code]}`;
  if (Object.hasOwn(socketFailures, code)) return `${dial}: socket: ${socketFailures[code]}`;
  if (Object.hasOwn(connectionFailures, code)) return connectionFailures[code]!;
  if (code.startsWith("HPE_")) return malformedResponse(error);
  const alert = alerts[Number(/SSL alert number (\d+)/.exec(message)?.[1])];
  if (alert !== undefined) return `remote error: tls: ${alert}`;
  switch (code) {
    case "ETIMEDOUT":
      return dialTimedOut(address);
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `dial tcp: lookup ${place.host}: no such host`;
    case "ECONNRESET":
      // Node has the same code for a connection that the peer closed.
      return syscall === "" ? "EOF" : `${syscall} tcp: ${syscall}: connection reset by peer`;
    case "EPIPE":
      return "write tcp: write: broken pipe";
    default:
      return message;
  }
}

function malformedResponse({ rawPacket = new Uint8Array() }: SocketError): string {
  const [line = ""] = Buffer.from(rawPacket).toString("latin1").split(/\r?\n/);
  const broken = "net/http: HTTP/1.x transport connection broken";
  return `${broken}: malformed HTTP response ${JSON.stringify(line)}`;
}

/** The first error of an AggregateError, which Node throws if several addresses fail. */
function firstAttempt(error: SocketError): SocketError {
  return error instanceof AggregateError ? (error.errors[0] as SocketError) : error;
}
