import { memoize } from "#base";
import { jsonFields, type JsonField, resolved } from "../struct/layout.ts";
import type { Infer, StructType, Type } from "../struct/types.ts";

/**
 * Removes, in place, the fields of disabled feature gates, unless `old` uses a field of the gate, which
 * was set while the gate was enabled. A field's gate may be several names
 * with commas between them; all must be on.
 */
export function dropGated<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  { old, isOn }: { readonly old?: Infer<S> | undefined; isOn(gate: string): boolean },
): void {
  const inUse = new Set<string>();
  const off = gatedBelow(struct).filter(({ gate }) => !gate.split(",").every(isOn));
  for (const { gate, visit } of old === undefined ? [] : off) {
    visit(old, (holder, name) => {
      if (holder[name] !== undefined && holder[name] !== null) inUse.add(gate);
    });
  }
  for (const { gate, visit } of off) {
    if (inUse.has(gate)) continue;
    visit(object, (holder, name) => {
      delete holder[name];
    });
  }
}

type Holder = Record<string, unknown>;
type Visitor = (holder: Holder, name: string) => void;
type Walk = (value: any, visitor: Visitor) => void;

/** A gated field of a type, and the walk to all its occurrences in an object. */
interface Gated {
  readonly gate: string;
  readonly visit: Walk;
}

const gatedBelow = memoize((type: Type): readonly Gated[] => find(type, new Set()));

/** Finds gated fields; recursive types are visited once. */
function find(type: Type, entered: ReadonlySet<Type>): readonly Gated[] {
  const target = resolved(type);
  if (entered.has(target)) return [];
  const within = new Set([...entered, target]);
  switch (target.tag) {
    case "list":
      return through(find(target.element, within), (values: readonly unknown[]) => values);
    case "map":
      return through(find(target.value, within), (values: object) => Object.values(values));
    case "struct":
      return jsonFields(target).flatMap((field) => ofField(field, within));
    default:
      return [];
  }
}

function through(below: readonly Gated[], members: (value: any) => readonly unknown[]) {
  return below.map(({ gate, visit }) => ({
    gate,
    visit: ((value, visitor) => {
      for (const member of members(value)) visit(member, visitor);
    }) satisfies Walk,
  }));
}

function ofField(field: JsonField, entered: ReadonlySet<Type>): readonly Gated[] {
  const { name, gate } = field;
  const below = find(field.type, entered).map((gated) => ({
    gate: gated.gate,
    visit: ((holder: Holder, visitor) => {
      const value = holder[name];
      if (value !== undefined && value !== null) gated.visit(value, visitor);
    }) satisfies Walk,
  }));
  if (gate === undefined) return below;
  return [{ gate, visit: (holder: Holder, visitor) => visitor(holder, name) }, ...below];
}
