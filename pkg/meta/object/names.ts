/**
 * Validation of names. Each check returns Kubernetes' error messages; empty = valid. Lengths are in
 * bytes.
 */

const labelForm = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainForm = `${labelForm}(\\.${labelForm})*`;
const label1035Form = "[a-z]([-a-z0-9]*[a-z0-9])?";
const qualifiedForm = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValueForm = `(${qualifiedForm})?`;
const configKeyForm = "[-._a-zA-Z0-9]+";
const identifierForm = "[A-Za-z_][A-Za-z0-9_]*";
const percentForm = "[0-9]+%";
const headerForm = "[-A-Za-z0-9]+";

const maxLabelLength = 63;
const maxSubdomainLength = 253;
const maxPortNameLength = 15;

const subdomain = exactly(subdomainForm);
const label1035 = exactly(label1035Form);
const qualifiedName = exactly(qualifiedForm);
const labelValue = exactly(labelValueForm);
const configKey = exactly(configKeyForm);
const identifier = exactly(identifierForm);
const percent = exactly(percentForm);
const header = exactly(headerForm);
const wildcard = exactly(`\\*\\.${subdomainForm}`);

const alphanumericRule = "must start and end with an alphanumeric character";
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  `and ${alphanumericRule}`;
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " +
  "'-' or '.', " +
  `and ${alphanumericRule}`;
const label1035Rule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
  "start with an alphabetic character, and end with an alphanumeric character";
const qualifiedRule = `must consist of alphanumeric characters, '-', '_' or '.', and ${alphanumericRule}`;
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
  `and ${alphanumericRule}`;

const qualifiedMessage = wrongForm(qualifiedRule, qualifiedForm, ["MyName", "my.name", "123-abc"]);

/** Whether the text has `labelForm`; a loop takes a third of the time of a regular expression. */
function isLabel(value: string): boolean {
  const last = value.length - 1;
  for (let index = 0; index <= last; index++) {
    const unit = value.charCodeAt(index);
    const isAlphanumeric = (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
    const isInnerHyphen = unit === 0x2d && index > 0 && index < last;
    if (!isAlphanumeric && !isInnerHyphen) return false;
  }
  return last >= 0;
}

export function isDns1123Label(value: string): string[] {
  const messages = tooLong(value, maxLabelLength);
  if (isLabel(value)) return messages;
  if (subdomain.test(value)) return [...messages, "must not contain dots"];
  return [...messages, wrongForm(labelRule, labelForm, ["my-name", "123-abc"])];
}

export function isDns1123Subdomain(value: string): string[] {
  const messages = tooLong(value, maxSubdomainLength);
  if (isLabel(value) || subdomain.test(value)) return messages;
  return [...messages, wrongForm(subdomainRule, subdomainForm, ["example.com"])];
}

export function isDns1035Label(value: string): string[] {
  const messages = tooLong(value, maxLabelLength);
  if (label1035.test(value)) return messages;
  return [...messages, wrongForm(label1035Rule, label1035Form, ["my-name", "abc-123"])];
}

/** `*.example.com`. */
export function isWildcardDns1123Subdomain(value: string): string[] {
  const messages = tooLong(value, maxSubdomainLength);
  if (wildcard.test(value)) return messages;
  const rule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, " +
    "which must consist of lower case alphanumeric characters, '-' or '.' " +
    "and end with an alphanumeric character";
  return [...messages, wrongForm(rule, `\\*\\.${subdomainForm}`, ["*.example.com"])];
}

/** Label keys, annotation keys, finalizers: a name with an optional DNS prefix and a slash. */
export function isQualifiedName(value: string): string[] {
  if (value.length <= maxLabelLength && qualifiedName.test(value)) return [];
  const parts = value.split("/");
  if (parts.length > 2) {
    return [
      `a qualified name ${qualifiedMessage} with an optional DNS subdomain prefix and '/' ` +
        "(e.g. 'example.com/MyName')",
    ];
  }
  const name = parts.at(-1) ?? "";
  const messages = parts.length === 2 ? prefixMessages(parts[0] ?? "") : [];
  if (name === "") messages.push("name part must be non-empty");
  messages.push(...tooLong(name, maxLabelLength).map((message) => `name part ${message}`));
  if (!qualifiedName.test(name)) messages.push(`name part ${qualifiedMessage}`);
  return messages;
}

function prefixMessages(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return isDns1123Subdomain(prefix).map((message) => `prefix part ${message}`);
}

export function isLabelValue(value: string): string[] {
  const messages = tooLong(value, maxLabelLength);
  if (labelValue.test(value)) return messages;
  const examples = ["MyValue", "my_value", "12345"];
  return [...messages, wrongForm(labelValueRule, labelValueForm, examples)];
}

/** Annotation keys are qualified names, validated in lower case. */
export function isAnnotationKey(value: string): string[] {
  return isQualifiedName(value.toLowerCase());
}

/** A key of a ConfigMap or Secret. */
export function isConfigMapKey(value: string): string[] {
  const messages = tooLong(value, maxSubdomainLength);
  if (!configKey.test(value)) {
    const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    messages.push(wrongForm(rule, configKeyForm, ["key.name", "KEY_NAME", "key-name"]));
  }
  return [...messages, ...directoryMessages(value)];
}

/** Names of environment variables as containers accept them. */
export function isRelaxedEnvVarName(value: string): string[] {
  if (value === "") return ["environment variable name must be non-empty"];
  if (/^[ -<>-~]+$/.test(value)) return [];
  return [
    "a valid environment variable name must consist only of printable ASCII characters " +
      "other than '='",
  ];
}

/** Rejects names that would leave the directory if used as file names. */
function directoryMessages(value: string): string[] {
  if (value === ".") return ["must not be '.'"];
  if (value === "..") return ["must not be '..'"];
  return value.startsWith("..") ? ["must not start with '..'"] : [];
}

export function isIdentifier(value: string): string[] {
  if (identifier.test(value)) return [];
  const rule =
    "a valid C identifier must start with alphabetic character or '_', " +
    "followed by a string of alphanumeric characters or '_'";
  return [wrongForm(rule, identifierForm, ["my_name", "MY_NAME", "MyName"])];
}

/** Names of ports of services and containers. */
export function isPortName(value: string): string[] {
  const messages = tooLong(value, maxPortNameLength);
  if (!/^[-a-z0-9]+$/.test(value)) {
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(value)) messages.push("must contain at least one letter (a-z)");
  if (value.includes("--")) messages.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) {
    messages.push("must not begin or end with a hyphen");
  }
  return messages;
}

export function isPortNumber(value: number): string[] {
  return value >= 1 && value <= 65_535 ? [] : ["must be between 1 and 65535, inclusive"];
}

export function isPercent(value: string): string[] {
  if (percent.test(value)) return [];
  const rule = "a valid percent string must be a numeric string followed by an ending '%'";
  return [wrongForm(rule, percentForm, ["1%", "93%"])];
}

export function isHttpHeaderName(value: string): string[] {
  if (header.test(value)) return [];
  const rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
  return [wrongForm(rule, headerForm, ["X-Header-Name"])];
}

/** A path segment of a URL; `prefix` for a generateName. */
export function isPathSegmentName(value: string, prefix = false): string[] {
  const messages: string[] = [];
  if (!prefix) {
    if (value === ".") return ["may not be '.'"];
    if (value === "..") return ["may not be '..'"];
  }
  for (const illegal of ["/", "%"]) {
    if (value.includes(illegal)) messages.push(`may not contain '${illegal}'`);
  }
  return messages;
}

/** A name rule of a kind; `prefix` for a generateName, `object` for names that its fields determine. */
type NameCheck = (name: string, prefix: boolean, object?: any) => readonly string[];

/** `any`: only what every name must be, a path segment, is checked, after all other fields. */
export type NameRule =
  | "any"
  | "dns-subdomain"
  | "dns-label"
  | "dns-1035-label"
  | "path-segment"
  | NameCheck;

export function nameCheck(rule: NameRule): NameCheck {
  if (typeof rule === "function") return rule;
  return checks[rule];
}

const checks: Readonly<Record<Exclude<NameRule, NameCheck>, NameCheck>> = {
  any: () => [],
  "dns-subdomain": (name, prefix) => isDns1123Subdomain(completed(name, prefix)),
  "dns-label": (name, prefix) => isDns1123Label(completed(name, prefix)),
  "dns-1035-label": (name, prefix) => isDns1035Label(completed(name, prefix)),
  "path-segment": (name, prefix) => isPathSegmentName(name, prefix),
};

/** Masks the trailing dash of a generateName, which is permitted. */
function completed(name: string, prefix: boolean): string {
  return prefix && name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}

function exactly(form: string): RegExp {
  return new RegExp(`^${form}$`);
}

function tooLong(value: string, most: number): string[] {
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (value.length * 3 <= most || Buffer.byteLength(value, "utf8") <= most) return [];
  return [`must be no more than ${most} characters`];
}

/**
 * `<rule> (e.g. 'a',  or 'b', regex used for validation is '…')`, spaces as Kubernetes has them.
 */
function wrongForm(rule: string, form: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${rule} (e.g. ${shown}regex used for validation is '${form}')`;
}
