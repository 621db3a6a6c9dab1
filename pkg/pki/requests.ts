import type { KeyPair } from "./certificates.ts";
import type { RequestedNames, SigningOptions } from "./x509-requests.ts";

/** Certificate requests. The package that parses them is large, and loaded on first use. */

/** Reads the names of a certificate request (PEM). @throws Error if it is invalid */
export async function readRequest(text: string): Promise<RequestedNames> {
  const requests = await import("./x509-requests.ts");
  return requests.readRequest(text);
}

/** Signs a request; returns the certificate (PEM). Ignores unknown usages. */
export async function signRequest(authority: KeyPair, options: SigningOptions): Promise<string> {
  const requests = await import("./x509-requests.ts");
  return requests.signRequest(authority, options);
}
