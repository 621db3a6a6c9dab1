import { goQuote } from "#meta";
import { RenderFault } from "./fault.ts";
import { isNil, kindOf, maxTextLength, numberOf, printed } from "./values.ts";

const directive = /%([-+# 0]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g;
/** Maximum width and precision of a directive. */
const maxWidth = 1_000;

/** Formats as Go's `fmt.Sprintf`: the verbs %v %s %d %f %t %q %x %c %e %g %%, with flags. */
export function printf(format: string, args: readonly unknown[]): string {
  let next = 0;
  let length = 0;
  const text = format.replace(directive, (...match: readonly (string | undefined)[]) => {
    const [, flags = "", width, precision, verb = ""] = match;
    if (verb === "%") return "%";
    if (Number(width ?? 0) > maxWidth || Number(precision ?? 0) > 50) {
      throw new RenderFault("printf: field is too wide");
    }
    if (next >= args.length) return `%!${verb}(MISSING)`;
    const given = precision === undefined ? undefined : Number(precision);
    const formatted = formatOne(verb, args[next++], { flags, precision: given });
    const field = padded(formatted, { flags, width: Number(width ?? 0) });
    length += field.length;
    if (length > maxTextLength) throw new RenderFault("printf: text is too long");
    return field;
  });
  const extra = args.slice(next).map((value) => `${kindOf(value)}=${printed(value, "<nil>")}`);
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(", ")})`;
}

interface Directive {
  readonly flags: string;
  readonly precision: number | undefined;
}

function formatOne(verb: string, value: unknown, { flags, precision }: Directive): string {
  const kind = kindOf(value);
  const signed = (text: string) =>
    flags.includes("+") && !text.startsWith("-") ? `+${text}` : text;
  if (verb === "v") return printed(value, "<nil>");
  if (isNil(value)) return `%!${verb}(<nil>)`;
  const isNumber = kind === "int" || kind === "float64";
  if (verb === "s" && !isNumber && kind !== "bool") return printed(value).slice(0, precision);
  if (verb === "q" && kind === "string") return goQuote(String(value));
  if (verb === "t" && kind === "bool") return String(value);
  if (verb === "d" && kind === "int") return signed(String(value));
  if (verb === "c" && kind === "int")
    return String.fromCodePoint(Math.min(Number(value), 0x10ffff));
  if (verb === "x" && kind === "int") return BigInt(String(value)).toString(16);
  if (verb === "x" && kind === "string") return Buffer.from(String(value)).toString("hex");
  if (verb === "f" && isNumber) return signed(numberOf(value).toFixed(precision ?? 6));
  if (verb === "e" && isNumber) return signed(numberOf(value).toExponential(precision ?? 6));
  if (verb === "g" && isNumber) return signed(String(numberOf(value)));
  return `%!${verb}(${kind}=${printed(value)})`;
}

function padded(
  text: string,
  { flags, width }: { readonly flags: string; readonly width: number },
): string {
  if (flags.includes("-")) return text.padEnd(width);
  if (!flags.includes("0")) return text.padStart(width);
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}
