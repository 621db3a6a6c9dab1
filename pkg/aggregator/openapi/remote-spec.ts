/** Extracts one group version from the Swagger 2.0 document of another server. */
import { append, isJsonObject, type JsonObject, yieldEvery, printJson } from "#base";
import { JsonSpan, JsonSpanError } from "../download/json-span.ts";

/** Paths of a group version, and the definitions that they refer to, directly or indirectly. */
export interface RemoteSpec {
  /** JSON of the path items, by path. */
  readonly paths: ReadonlyMap<string, string>;
  /** JSON of the schemas, by name. */
  readonly definitions: ReadonlyMap<string, string>;
}

/** Limit of the extracted paths and definitions, as characters of JSON. */
const maxSpecPartBytes = 16 * 1024 * 1024;
export const kindsExtension = "x-kubernetes-group-version-kind";

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/**
 * Extracts the paths below `/apis/GROUP/VERSION/` and the definitions that they refer to. Kinds of other
 * groups are removed from `x-kubernetes-group-version-kind`: a server describes only its own kinds.
 * @throws JsonSpanError if the document is no Swagger 2.0 document, or exceeds a limit
 */
export async function readSpec(body: Buffer, owner: GroupVersion): Promise<RemoteSpec> {
  const document = await JsonSpan.of(body).members();
  if (document.get("swagger")?.parse() !== "2.0")
    throw new JsonSpanError("no Swagger 2.0 document");
  const all = {
    paths: await membersOf(document, "paths"),
    parameters: await membersOf(document, "parameters"),
    definitions: await membersOf(document, "definitions"),
  };
  return new SpecReader(all, owner).read();
}

async function membersOf(document: ReadonlyMap<string, JsonSpan>, name: string): Promise<Members> {
  return (await document.get(name)?.members()) ?? new Map<string, JsonSpan>();
}

type Members = ReadonlyMap<string, JsonSpan>;

class SpecReader {
  private bytes = 0;
  private readonly maybeYield = yieldEvery();

  constructor(
    private readonly all: Readonly<Record<"paths" | "parameters" | "definitions", Members>>,
    private readonly groupVersion: GroupVersion,
  ) {}

  async read(): Promise<RemoteSpec> {
    const { group, version } = this.groupVersion;
    const prefix = `/apis/${group}/${version}/`;
    const paths = new Map<string, string>();
    for (const [path, span] of this.all.paths) {
      if (!path.startsWith(prefix)) continue;
      paths.set(path, this.encode(this.inlineParameters(span.parse())));
      await this.maybeYield();
    }
    return { paths, definitions: await this.definitionsOf(paths.values()) };
  }

  private async definitionsOf(texts: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const definitions = new Map<string, string>();
    const pending = [...texts].flatMap(referencesIn);
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      const span = this.all.definitions.get(name);
      if (span === undefined || definitions.has(name)) continue;
      const text = this.encode(this.withKindsOfGroup(span.parse()));
      definitions.set(name, text);
      append(pending, referencesIn(text));
      await this.maybeYield();
    }
    return definitions;
  }

  private encode(value: unknown): string {
    if (!isJsonObject(value)) throw new JsonSpanError("a path or definition is no object");
    const text = printJson(value);
    this.bytes += text.length;
    if (this.bytes > maxSpecPartBytes)
      throw new JsonSpanError(`more than ${maxSpecPartBytes} bytes of schemas`);
    return text;
  }

  /** The path item with references to `#/parameters` replaced by the parameters. */
  private inlineParameters(item: unknown): unknown {
    if (!isJsonObject(item)) return item;
    const result: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(item)) {
      if (key === "parameters") result[key] = this.parametersOf(value);
      else if (isJsonObject(value) && Array.isArray(value["parameters"])) {
        result[key] = { ...value, parameters: this.parametersOf(value["parameters"]) };
      } else result[key] = value;
    }
    return result;
  }

  private parametersOf(list: unknown): readonly unknown[] {
    return Array.isArray(list) ? list.map((each: unknown) => this.parameter(each)) : [];
  }

  private parameter(value: unknown): unknown {
    const reference = isJsonObject(value) ? value["$ref"] : undefined;
    if (typeof reference !== "string" || !reference.startsWith("#/parameters/")) return value;
    const span = this.all.parameters.get(reference.slice("#/parameters/".length));
    if (span === undefined) throw new JsonSpanError(`${reference} does not exist`);
    const parameter = span.parse();
    // Counted per reference: a large parameter that many paths refer to is copied into each.
    this.bytes += printJson(parameter).length;
    if (this.bytes > maxSpecPartBytes)
      throw new JsonSpanError(`more than ${maxSpecPartBytes} bytes of schemas`);
    return parameter;
  }

  private withKindsOfGroup(schema: unknown): unknown {
    if (!isJsonObject(schema) || !Object.hasOwn(schema, kindsExtension)) return schema;
    const { [kindsExtension]: kinds, ...rest } = schema;
    const own = kindsOf(kinds).filter(({ group }) => group === this.groupVersion.group);
    return own.length === 0 ? rest : { ...rest, [kindsExtension]: own };
  }
}

/** The kinds in the value of the extension. */
export function kindsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const references = /"\$ref":"#\/definitions\/([^"\\]*)"/g;

/** Names of the definitions that compact JSON refers to. */
export function referencesIn(text: string): string[] {
  return Array.from(text.matchAll(references), ([, name = ""]) => name);
}

/** Compact JSON with references to other names. */
export function renameReferences(text: string, names: ReadonlyMap<string, string>): string {
  if (names.size === 0) return text;
  return text.replace(references, (whole, name: string) => {
    const renamed = names.get(name);
    return renamed === undefined ? whole : `"$ref":${JSON.stringify(`#/definitions/${renamed}`)}`;
  });
}
