/** Validation of certificate signer names, `example.com/signer-name` for example. */
import { isDns1123Label, isDns1123Subdomain } from "#meta";

interface Fault {
  /** Invalid part of the name. */
  readonly value: string;
  readonly message: string;
}

const maxDomainLength = 253;
const maxPathLength = 317;

/** Errors of a signer name; empty if it is valid. */
export function signerNameFaults(name: string): readonly Fault[] {
  const parts = name.split("/");
  if (parts.length !== 2) {
    const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [{ value: name, message: form }];
  }
  const [domain = "", path = ""] = parts;
  return [...domainFaults(domain), ...pathFaults(path)];
}

function tooLong(value: string, most: number): readonly Fault[] {
  if (Buffer.byteLength(value) <= most) return [];
  return [{ value, message: `must be no more than ${most} bytes` }];
}

function named(value: string, whole: string, messages: readonly string[]): readonly Fault[] {
  return messages.map((each) => ({
    value: whole,
    message: `validating label ${JSON.stringify(value)}: ${each}`,
  }));
}

function domainFaults(domain: string): readonly Fault[] {
  const labels = domain.split(".");
  const faults = labels.flatMap((label) => named(label, domain, isDns1123Label(label)));
  const short =
    labels.length < 2
      ? [
          {
            value: domain,
            message: "should be a domain with at least two segments separated by dots",
          },
        ]
      : [];
  return [...tooLong(domain, maxDomainLength), ...faults, ...short];
}

function pathFaults(path: string): readonly Fault[] {
  return [...tooLong(path, maxPathLength), ...named(path, path, isDns1123Subdomain(path))];
}
