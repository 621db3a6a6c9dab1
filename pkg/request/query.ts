import { compareUtf8 } from "#base";

/**
 * The query of a request, parsed as by Go's net/url, including the pairs that it drops.
 */
export class Query {
  private static readonly none = new Query(new Map());

  private constructor(private readonly values: ReadonlyMap<string, readonly string[]>) {}

  /**
   * Parses the text after the question mark. Pairs with a semicolon or a malformed escape are dropped,
   * `+` is a space, and a name without `=` has the value "".
   */
  static parse(text: string): Query {
    if (text === "") return Query.none;
    const values = new Map<string, string[]>();
    for (const pair of text.split("&")) {
      if (pair === "" || pair.includes(";")) continue;
      const equals = pair.indexOf("=");
      const name = unescapeQuery(equals < 0 ? pair : pair.slice(0, equals));
      const value = unescapeQuery(equals < 0 ? "" : pair.slice(equals + 1));
      if (name === undefined || value === undefined) continue;
      const list = values.get(name);
      if (list === undefined) values.set(name, [value]);
      else list.push(value);
    }
    return new Query(values);
  }

  /** `a=1&b=2`, sorted by name, as Go's `Values.Encode`. */
  encoded(): string {
    const names = [...this.values.keys()].sort(compareUtf8);
    const pairs = names.flatMap((name) =>
      this.all(name).map((value): [string, string] => [name, value]),
    );
    return new URLSearchParams(pairs).toString();
  }

  has(name: string): boolean {
    return this.values.has(name);
  }

  /** The first value of a parameter. */
  get(name: string): string | undefined {
    return this.values.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.values.get(name) ?? [];
  }

  /**
   * A boolean by Kubernetes' rules: true except for `0` and `false`, also for a name without value;
   * undefined if absent.
   */
  flag(name: string): boolean | undefined {
    const value = this.get(name);
    return value === undefined ? undefined : value !== "0" && value.toLowerCase() !== "false";
  }
}

function unescapeQuery(text: string): string | undefined {
  return unescapePercent(text.replaceAll("+", " "));
}

/**
 * Decodes percent escapes. Invalid UTF-8 becomes U+FFFD; undefined if an escape is malformed.
 */
export function unescapePercent(text: string): string | undefined {
  if (!text.includes("%")) return text;
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return Buffer.from(latin1OfEscapes(text), "latin1").toString("utf8");
  }
}

/** Decodes the key in the name of an `X-Remote-Extra-` or `Impersonate-Extra-` header. */
export function unescapeKey(text: string): string {
  return unescapePercent(text) ?? text;
}

function latin1OfEscapes(text: string): string {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  return bytes.replace(/%([0-9a-fA-F]{2})/g, (_escape, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
