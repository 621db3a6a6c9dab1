import { JsonReader } from "./json-reader.ts";
import { fieldNamed, resolved } from "../struct/layout.ts";
import type { StructType, Type } from "../struct/types.ts";

/** An error of strict decoding only. */
export interface StrictFault {
  readonly problem: "unknown field" | "duplicate field";
  /** `spec.containers[0].image` */
  readonly path: string;
}

/** Maximum number of reported faults, as in Kubernetes. */
const maxFaults = 100;

const openObject = 0x7b;
const openList = 0x5b;
const comma = 0x2c;
const quote = 0x22;

/**
 * Unknown and duplicate fields of JSON text that decodes as a `struct`, each once, at most 100, in the
 * document order of sigs.k8s.io/json. Values of unknown fields, and of fields whose Go types have their
 * own decoder, are skipped.
 */
export function strictFaults(struct: StructType<any>, text: string): readonly StrictFault[] {
  return new StrictScan(text).run(struct);
}

/** Type of an object or list; undefined if its members are not checked. */
type Target = ReturnType<typeof resolved> | undefined;

class StrictScan {
  private readonly reader: JsonReader;
  private readonly steps: string[] = [];
  private readonly found = new Map<string, StrictFault>();
  private isRoot = true;

  constructor(text: string) {
    this.reader = new JsonReader(text);
  }

  run(struct: StructType<any>): readonly StrictFault[] {
    this.value(struct);
    return [...this.found.values()];
  }

  /** Recurses to the depth of the types only; other values are skipped in a loop. */
  private value(target: Target): void {
    const unit = this.reader.peek();
    if (unit === openObject && (target?.tag === "struct" || target?.tag === "map")) {
      this.object(target);
    } else if (unit === openList && target?.tag === "list") {
      this.list(resolved(target.element));
    } else {
      this.skipValue();
    }
  }

  private object(target: NonNullable<Target>): void {
    const { reader, steps } = this;
    const isRoot = this.isRoot;
    this.isRoot = false;
    const seen = new Set<string>();
    reader.skip();
    while (reader.peek() === quote) {
      const key = reader.string();
      const known = isRoot && isTypeMeta(key) ? "known" : memberOf(target, key);
      if (known === undefined) this.add("unknown field", key);
      else if (seen.has(key)) this.add("duplicate field", key);
      seen.add(key);
      reader.peek();
      reader.skip();
      steps.push(steps.length === 0 ? key : `.${key}`);
      this.value(typeof known === "object" ? resolved(known) : undefined);
      steps.pop();
      if (reader.peek() === comma) reader.skip();
      reader.peek();
    }
    reader.skip();
  }

  private list(element: Target): void {
    const { reader, steps } = this;
    reader.skip();
    for (let index = 0; reader.peek() !== 0x5d; index++) {
      steps.push(`[${index}]`);
      this.value(element);
      steps.pop();
      if (reader.peek() === comma) reader.skip();
    }
    reader.skip();
  }

  private skipValue(): void {
    const { reader } = this;
    let depth = 0;
    do {
      const unit = reader.peek();
      if (unit === quote) reader.string();
      else if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) reader.number();
      else if (unit === 0x74 || unit === 0x66 || unit === 0x6e) reader.word();
      else {
        if (unit === openObject || unit === openList) depth++;
        else if (unit === 0x7d || unit === 0x5d) depth--;
        reader.skip();
      }
    } while (depth > 0);
  }

  private add(problem: StrictFault["problem"], name: string): void {
    if (this.found.size >= maxFaults) return;
    const path = this.steps.length === 0 ? name : `${this.steps.join("")}.${name}`;
    const key = `${problem} ${path}`;
    if (!this.found.has(key)) this.found.set(key, { problem, path });
  }
}

function isTypeMeta(key: string): boolean {
  return key === "apiVersion" || key === "kind";
}

/** The type of a member; undefined for a field that the struct does not have. */
function memberOf(target: NonNullable<Target>, key: string): Type | undefined {
  if (target.tag === "map") return target.value;
  return target.tag === "struct" ? fieldNamed(target, key)?.type : undefined;
}
