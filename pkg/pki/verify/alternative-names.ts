import { contentOf, contextTagOf, type Der, DerFault, sequenceOf } from "../der.ts";

/** Alternative names of a subject. */
export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
  /** 4 or 16 bytes. */
  readonly addresses: readonly Buffer[];
}

/** Numbers of the tags of GeneralName. */
export const nameTag = { email: 1, dns: 2, uri: 6, address: 7 } as const;

/** @throws DerFault */
export function parseAlternativeNames(value: Der): AlternativeNames {
  const names = sequenceOf(value);
  const contents = (tag: number) =>
    names.filter((name) => contextTagOf(name) === tag).map(contentOf);
  const texts = (tag: number) => contents(tag).map((bytes) => bytes.toString("latin1"));
  const addresses = contents(nameTag.address);
  if (addresses.some(({ length }) => length !== 4 && length !== 16)) {
    throw new DerFault("cannot parse IP address");
  }
  return {
    dns: texts(nameTag.dns),
    emails: texts(nameTag.email),
    uris: texts(nameTag.uri),
    addresses,
  };
}
