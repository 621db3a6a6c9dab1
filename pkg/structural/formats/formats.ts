/** String formats of schemas, as in go-openapi/strfmt; other formats are ignored. */
import { parseCidr, parseIp } from "#base";
import { parseDuration } from "#meta";
import { ScalarFault } from "#schema";
import { isEmailAddress } from "./email-address.ts";
import { isCreditCard, isIsbn10, isIsbn13 } from "./check-digits.ts";

/** Whether the text has the format. */
export type FormatCheck = (text: string) => boolean;

/** The check of a format; undefined if it is not supported. Hyphens in the name are ignored. */
export function formatCheck(name: string): FormatCheck | undefined {
  return formats.get(name.replaceAll("-", ""));
}

function pattern(expression: RegExp): FormatCheck {
  return (text) => expression.test(text);
}

function uuid(version: string, variant: string): FormatCheck {
  const parts = ["[0-9a-f]{8}", "[0-9a-f]{4}", `${version}[0-9a-f]{3}`, `${variant}[0-9a-f]{3}`];
  return pattern(new RegExp(`^${parts.join("-?")}-?[0-9a-f]{12}$`, "i"));
}

const hexDigit = "[0-9a-f]";
const colorComponent = "\\s*(?:0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])\\s*";

/** Characters of host names; Unicode symbols are included. */
const letterClass = "[a-zA-Z0-9\\p{S}\\p{L}]";
const singleLabel = new RegExp(`^${letterClass}(?:-?${letterClass}{0,62})?$`, "u");
const dottedLabels = new RegExp(
  `^(?:${letterClass}(?:[-a-zA-Z0-9\\p{S}\\p{L}]{0,61}${letterClass})?\\.)+\\p{L}{2,63}$`,
  "u",
);

function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255) return false;
  if (!singleLabel.test(text) && !dottedLabels.test(text)) return false;
  return text.split(".").every((label) => Buffer.byteLength(label) <= 63);
}

/** Whether Go's url.ParseRequestURI accepts the text: an absolute URI or an absolute path. */
function isRequestUri(text: string): boolean {
  // No control characters, and no spaces before the query.
  if (/\p{Cc}/u.test(text) || /^[^?]* /.test(text)) return false;
  if (text === "*") return true;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[0] ?? "";
  const rest = text.slice(scheme.length).replace(/\?.*$/s, "");
  if (!rest.startsWith("/")) return scheme !== "";
  const authority = scheme === "" ? undefined : /^\/\/([^/]*)/.exec(rest)?.[1];
  const path = authority === undefined ? rest : rest.slice(2 + authority.length);
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return false;
  return authority === undefined || isAuthority(authority);
}

function isAuthority(text: string): boolean {
  const host = text.slice(text.lastIndexOf("@") + 1);
  if (host.startsWith("[")) return /^\[[^\]]*\](?::\d*)?$/.test(host);
  return /^[^:[\]<>"\s%]*(?:%[0-9A-Fa-f]{2}[^:[\]<>"\s%]*)*(?::\d*)?$/.test(host);
}

/** 6, 8 or 20 bytes: `00:00:5e:00:53:01`, `00-00-5e-00-53-01`, `0000.5e00.5301`. */
const hardwareAddress = new RegExp(
  `^(?:${hexDigit}{2}(?:(?::${hexDigit}{2}){5}|(?::${hexDigit}{2}){7}|(?::${hexDigit}{2}){19}` +
    `|(?:-${hexDigit}{2}){5}|(?:-${hexDigit}{2}){7}|(?:-${hexDigit}{2}){19})` +
    `|${hexDigit}{4}(?:(?:\\.${hexDigit}{4}){2}|(?:\\.${hexDigit}{4}){3}|(?:\\.${hexDigit}{4}){9}))$`,
  "i",
);

function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]{2,}={0,2}$/.test(text);
}

function isDate(text: string): boolean {
  const [, year = 0, month = 0, day = 0] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []).map(Number);
  if (month < 1 || month > 12 || day < 1) return false;
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  return day <= date.getUTCDate();
}

function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t");
  if (time === undefined || !isDate(date)) return false;
  const parts = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time);
  if (parts === null) return false;
  const [hour = 0, minute = 0, second = 0] = parts.slice(1).map(Number);
  return hour <= 23 && minute <= 59 && second <= 59;
}

/** Unit names of durations; the long ones match by prefix. */
const unit = new RegExp(
  "^(?:ns|us|µs|ms|s|m|h|hr|d|w|wk|nano.*|micro.*|milli.*|sec.*|min.*|hour.*|day.*|week.*)$",
);
const maxFactor = 2n ** 63n - 1n;

/** A Go duration, or counts of units somewhere in the text: `5 days`, `3w`. */
function isDuration(text: string): boolean {
  if (isGoDuration(text)) return true;
  let isFound = false;
  for (const [, factor = "", name = ""] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    if (factor.length > 19 || BigInt(factor) > maxFactor) return false;
    if (unit.test(name.toLowerCase())) isFound = true;
  }
  return isFound;
}

function isGoDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch (error) {
    if (error instanceof ScalarFault) return false;
    throw error;
  }
}

const formats: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ["bsonobjectid", pattern(/^[0-9a-f]{24}$/i)],
  ["uri", isRequestUri],
  ["email", isEmailAddress],
  ["hostname", isHostname],
  ["ipv4", (text) => text.includes(".") && parseIp(text) !== undefined],
  ["ipv6", (text) => text.includes(":") && parseIp(text) !== undefined],
  ["cidr", (text) => parseCidr(text) !== undefined],
  ["mac", pattern(hardwareAddress)],
  ["uuid", uuid(hexDigit, hexDigit)],
  ["uuid3", uuid("3", hexDigit)],
  ["uuid4", uuid("4", "[89ab]")],
  ["uuid5", uuid("5", "[89ab]")],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ["hexcolor", pattern(/^#?(?:[0-9a-fA-F]{3}){1,2}$/)],
  [
    "rgbcolor",
    pattern(new RegExp(`^rgb\\(${colorComponent},${colorComponent},${colorComponent}\\)$`)),
  ],
  ["byte", isBase64],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
]);
