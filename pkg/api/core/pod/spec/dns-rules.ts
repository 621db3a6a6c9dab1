/** Validation of dnsPolicy, dnsConfig and host aliases. */
import type { Path, Problems } from "#schema";
import { isDns1123Subdomain } from "#meta";
import { parseIp } from "#base";
import { notAnAddressMessage } from "../../../networking/ip.ts";
import { invalidEach } from "../../../strategy.ts";
import type { PodSpec } from "./pod-spec.ts";

const maxNameservers = 3;
const maxSearchDomains = 32;
const maxSearchListLength = 2048;

const part = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const searchForm = `${part}(\\.${part})*`;
const search = new RegExp(`^${searchForm}$`);

export function checkAddressText(text: string, path: Path, problems: Problems): void {
  if (parseIp(text) === undefined) problems.invalid(path, text, notAnAddressMessage);
}

function searchFaults(domain: string): readonly string[] {
  const messages: string[] = [];
  if (domain.length > 253) messages.push("must be no more than 253 characters");
  if (search.test(domain)) return messages;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', " +
    "'-' or '.', and must start and end with an alphanumeric character";
  messages.push(`${rule} (e.g. 'example.com', regex used for validation is '${searchForm}')`);
  return messages;
}

export function checkDns({ dnsPolicy, dnsConfig }: PodSpec, path: Path, problems: Problems): void {
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  if (dnsPolicy === "None") {
    const detail = "when `dnsPolicy` is None";
    if (dnsConfig === undefined) {
      return problems.required(path, `must provide \`dnsConfig\` ${detail}`);
    }
    if (nameservers.length === 0) {
      const nameserversPath = path.child("nameservers");
      return problems.required(
        nameserversPath,
        `must provide at least one DNS nameserver ${detail}`,
      );
    }
  }
  const servers = path.child("nameservers");
  if (nameservers.length > maxNameservers) {
    problems.invalid(servers, nameservers, `must not have more than ${maxNameservers} nameservers`);
  }
  for (const [index, server] of nameservers.entries()) {
    checkAddressText(server, servers.index(index), problems);
  }
  checkSearches(searches, path.child("searches"), problems);
  for (const [index, { name }] of options.entries()) {
    if (!name) problems.required(path.child("options").index(index), "must not be empty");
  }
}

function checkSearches(searches: readonly string[], path: Path, problems: Problems): void {
  if (searches.length > maxSearchDomains) {
    problems.invalid(path, searches, `must not have more than ${maxSearchDomains} search paths`);
  }
  if (searches.join(" ").length > maxSearchListLength) {
    const length = `${maxSearchListLength} characters (including spaces)`;
    problems.invalid(path, searches, `must not have more than ${length} in the search list`);
  }
  for (const [index, domain] of searches.entries()) {
    if (domain === ".") continue;
    const value = domain.endsWith(".") ? domain.slice(0, -1) : domain;
    invalidEach(problems, path.index(index), { value, messages: searchFaults(value) });
  }
}

export function checkHostAliases({ hostAliases }: PodSpec, path: Path, problems: Problems): void {
  for (const [index, { ip, hostnames }] of (hostAliases ?? []).entries()) {
    checkAddressText(ip, path.index(index).child("ip"), problems);
    for (const [i, name] of (hostnames ?? []).entries()) {
      const itemPath = path.index(index).child("hostnames").index(i);
      invalidEach(problems, itemPath, { value: name, messages: isDns1123Subdomain(name) });
    }
  }
}
