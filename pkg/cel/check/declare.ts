/** Declarations of functions: names, textual signatures and implementations. */
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  opaque,
  optionalOf,
  parameter,
  string,
  timestamp,
  typeOf,
  uint,
} from "./types.ts";
import type { Value } from "../value/values.ts";

export type Implementation = (...values: readonly Value[]) => Value;

export interface Overload {
  /** Overload id, used by cost rules. */
  readonly id: string;
  /** Whether it is a member function, called on its first parameter: `text.size()`. */
  readonly member: boolean;
  readonly parameters: readonly CelType[];
  readonly result: CelType;
  readonly generic: boolean;
  readonly implementation: Implementation;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** A set of functions and types. */
export interface Library {
  readonly functions: readonly FunctionDeclaration[];
  /** Types that expressions may name. */
  readonly types?: readonly CelType[];
}

/** Implementations may declare narrower parameter types, which checker and dispatcher guarantee. */
type Typed = (...values: never[]) => Value;

/**
 * Declares an overload by signature: `string.(string) -> bool` for a member, `(A, list(A)) -> bool` for
 * a global function. Single capital letters are type variables; unknown names are opaque types.
 */
export function overload(id: string, signature: string, implementation: Typed): Overload {
  const { member, parameters, result } = new SignatureReader(signature).signature();
  return {
    id,
    member,
    parameters,
    result,
    generic: /\b[A-Z]\b/.test(signature),
    implementation: implementation as Implementation,
  };
}

export function define(name: string, ...overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads };
}

const simpleTypes: ReadonlyMap<string, CelType> = new Map([
  ["dyn", dyn],
  ["null", nullType],
  ["bool", bool],
  ["int", int],
  ["uint", uint],
  ["double", double],
  ["string", string],
  ["bytes", bytes],
  ["timestamp", timestamp],
  ["duration", duration],
]);

/** Parses a type in the notation of signatures. */
export function readType(text: string): CelType {
  return new SignatureReader(text).type();
}

class SignatureReader {
  private rest: string;

  constructor(signature: string) {
    this.rest = signature.replaceAll(" ", "");
  }

  signature(): Pick<Overload, "member" | "parameters" | "result"> {
    const receiver = this.rest.startsWith("(") ? undefined : this.type();
    if (receiver !== undefined) this.skip(".");
    const parameters = this.list();
    this.skip("->");
    const result = this.type();
    return receiver === undefined
      ? { member: false, parameters, result }
      : { member: true, parameters: [receiver, ...parameters], result };
  }

  private skip(text: string): void {
    this.rest = this.rest.slice(text.length);
  }

  private list(): CelType[] {
    const types: CelType[] = [];
    this.skip("(");
    while (!this.rest.startsWith(")")) {
      types.push(this.type());
      if (this.rest.startsWith(",")) this.skip(",");
    }
    this.skip(")");
    return types;
  }

  type(): CelType {
    const name = /^\w+(?:\.\w+)*/.exec(this.rest)?.[0] ?? "";
    this.skip(name);
    const inner = this.rest.startsWith("(") ? this.list() : [];
    const [first = dyn, second = dyn] = inner;
    if (/^[A-Z]$/.test(name)) return parameter(name);
    if (name === "list") return listOf(first);
    if (name === "map") return mapOf(first, second);
    if (name === "type")
      return inner.length === 0 ? { ...typeOf(dyn), parameters: [] } : typeOf(first);
    if (name === "optional") return optionalOf(first);
    return simpleTypes.get(name) ?? opaque(name);
  }
}
