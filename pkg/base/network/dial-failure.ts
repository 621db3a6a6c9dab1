/** Connection errors with the messages of Go's net, crypto/tls and crypto/x509. */
export interface DialPlace {
  readonly host: string;
  readonly port: string | number;
}

const unknownAuthority = "x509: certificate signed by unknown authority";

/** Messages by Node's error code of rejected certificates. */
const certificateFailures: ReadonlyMap<string, string> = new Map([
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", unknownAuthority],
  ["UNABLE_TO_GET_ISSUER_CERT", unknownAuthority],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", unknownAuthority],
  ["SELF_SIGNED_CERT_IN_CHAIN", unknownAuthority],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", unknownAuthority],
  ["CERT_SIGNATURE_FAILURE", unknownAuthority],
  ["CERT_UNTRUSTED", unknownAuthority],
  ["CERT_HAS_EXPIRED", "x509: certificate has expired or is not yet valid"],
  ["CERT_NOT_YET_VALID", "x509: certificate has expired or is not yet valid"],
  ["INVALID_CA", "x509: certificate is not authorized to sign other certificates"],
  ["INVALID_PURPOSE", "x509: certificate specifies an incompatible key usage"],
]);

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
}

/**
 * Go's message for Node's error of a connection to `place`. Go names the dialled address, the first of
 * those that a name resolves to.
 */
export function dialFailure(place: DialPlace, error: SocketError): string {
  const { code = "" } = error;
  const certificate = certificateFailures.get(code);
  if (certificate !== undefined) return `tls: failed to verify certificate: ${certificate}`;
  const { address: host = place.host, port = place.port } = firstAttempt(error);
  const dial = `dial tcp ${hostAndPort({ host, port })}`;
  switch (code) {
    case "ECONNREFUSED":
      return `${dial}: connect: connection refused`;
    case "EHOSTUNREACH":
      return `${dial}: connect: no route to host`;
    case "ENETUNREACH":
      return `${dial}: connect: network is unreachable`;
    case "ETIMEDOUT":
      return dialTimedOut({ host, port });
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `dial tcp: lookup ${place.host}: no such host`;
    case "ECONNRESET":
      return "EOF";
    default:
      return error.message;
  }
}

/** The first error of an AggregateError, which Node throws if several addresses fail. */
function firstAttempt(error: SocketError): SocketError {
  return error instanceof AggregateError ? (error.errors[0] as SocketError) : error;
}
