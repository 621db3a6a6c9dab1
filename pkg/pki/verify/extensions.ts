import {
  booleanOf,
  contentOf,
  contextTagOf,
  type Der,
  DerFault,
  dottedIdentifierOf,
  membersOf,
  sequenceOf,
  smallIntegerOf,
} from "../der.ts";
import { type AlternativeNames, parseAlternativeNames } from "./alternative-names.ts";
import { type NameConstraints, parseNameConstraints } from "./name-constraints.ts";

/** Extensions of a certificate (RFC 5280, section 4.2). */
export interface Extensions {
  /** Undefined = no basic constraints. */
  readonly basicConstraints?: { readonly isCa: boolean; readonly maxPathLength?: number };
  /** Whether the key may sign certificates; undefined = all usages are allowed. */
  readonly mayCertify?: boolean;
  /** Object identifiers; empty = all usages are allowed. */
  readonly extendedUsages: readonly string[];
  readonly subjectKeyId: Buffer;
  readonly authorityKeyId: Buffer;
  /** Undefined = no extension. */
  readonly alternativeNames?: AlternativeNames & { readonly raw: Der };
  readonly nameConstraints?: NameConstraints;
  /** Certificate policies are required of the certificates below. */
  readonly requiresPolicy: boolean;
  readonly hasUnhandledCritical: boolean;
}

/** Extensions as they are collected. */
type Draft = { -readonly [K in keyof Extensions]: Extensions[K] };

interface Extension {
  readonly value: Der;
  readonly isCritical: boolean;
}

/** Certificate sign, the sixth bit of KeyUsage. */
const certificateSign = 0x04;
const noBytes = Buffer.alloc(0);

/** Parsers of the extensions that crypto/x509 knows; true = a critical one is not handled. */
const parsers: Readonly<Record<string, (draft: Draft, extension: Extension) => boolean | void>> = {
  "2.5.29.14": (draft, { value, isCritical }) => {
    if (isCritical) throw new DerFault("subject key identifier incorrectly marked critical");
    draft.subjectKeyId = contentOf(value);
  },
  "2.5.29.15": (draft, { value }) => {
    const [, ...bytes] = contentOf(value);
    // All bits unset are no constraint, as in Go.
    if (bytes.some((byte) => byte !== 0)) draft.mayCertify = (bytes[0]! & certificateSign) !== 0;
  },
  "2.5.29.17": (draft, { value }) => {
    const names = parseAlternativeNames(value);
    draft.alternativeNames = { ...names, raw: value };
    return Object.values(names).every(({ length }) => length === 0);
  },
  "2.5.29.19": (draft, { value }) => {
    const [first, second] = sequenceOf(value);
    const isCa = booleanOf(first) ?? false;
    const maxPathLength = smallIntegerOf(booleanOf(first) === undefined ? first : second);
    draft.basicConstraints = maxPathLength === undefined ? { isCa } : { isCa, maxPathLength };
  },
  "2.5.29.30": (draft, { value }) => {
    draft.nameConstraints = parseNameConstraints(value);
    return draft.nameConstraints.hasUnsupported;
  },
  "2.5.29.31": () => undefined,
  "2.5.29.32": () => undefined,
  "2.5.29.33": () => undefined,
  "2.5.29.35": (draft, { value, isCritical }) => {
    if (isCritical) throw new DerFault("authority key identifier incorrectly marked critical");
    const id = sequenceOf(value).find((member) => contextTagOf(member) === 0);
    draft.authorityKeyId = id === undefined ? noBytes : contentOf(id);
  },
  "2.5.29.36": (draft, { value }) => {
    draft.requiresPolicy = sequenceOf(value).some((member) => contextTagOf(member) === 0);
  },
  "2.5.29.37": (draft, { value }) => {
    draft.extendedUsages = sequenceOf(value).map(dottedIdentifierOf);
  },
  "2.5.29.54": () => undefined,
  "1.3.6.1.5.5.7.1.1": (_draft, { isCritical }) => {
    if (isCritical) throw new DerFault("authority info access incorrectly marked critical");
  },
};

/** Parses the members of the extensions field. @throws DerFault */
export function parseExtensions(field: readonly Der[]): Extensions {
  const draft: Draft = {
    extendedUsages: [],
    subjectKeyId: noBytes,
    authorityKeyId: noBytes,
    requiresPolicy: false,
    hasUnhandledCritical: false,
  };
  for (const list of field) {
    for (const each of sequenceOf(list)) {
      const members = membersOf(each);
      const id = dottedIdentifierOf(members[0]);
      const isCritical = booleanOf(members[1]) ?? false;
      const parse = Object.hasOwn(parsers, id) ? parsers[id] : undefined;
      const value = contentOf(members.at(-1)!);
      const isUnhandled = parse === undefined || parse(draft, { value, isCritical }) === true;
      if (isCritical && isUnhandled) draft.hasUnhandledCritical = true;
    }
  }
  return draft;
}
