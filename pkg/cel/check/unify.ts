/**
 * Assignability with type variables, as in cel-go's checker. An attempt commits its substitutions only
 * if it succeeds, at a cost that is independent of the number of earlier ones: long expressions have
 * many thousands of variables.
 */
import { type CelType, dyn, isOptional, parameterOf, sameType } from "./types.ts";

/** Substitutions of type variables, by name. */
export class Mapping {
  private readonly known = new Map<string, CelType>();

  get(name: string): CelType | undefined {
    return this.known.get(name);
  }

  /** Whether the types are pairwise assignable; if not, the mapping is unchanged. */
  assignAll(actual: readonly CelType[], formal: readonly CelType[]): boolean {
    if (actual.length !== formal.length) return false;
    const attempt = new Attempt(this);
    const fits = actual.every((type, index) => attempt.assignable(type, formal[index] ?? dyn));
    if (!fits) return false;
    for (const [name, type] of attempt.found) this.known.set(name, type);
    return true;
  }
}

class Attempt {
  readonly found = new Map<string, CelType>();

  constructor(private readonly mapping: Mapping) {}

  private get(name: string): CelType | undefined {
    return this.found.get(name) ?? this.mapping.get(name);
  }

  assignable(left: CelType, right: CelType): boolean {
    if (right.kind === "parameter") {
      const { valid, known } = this.substitutes(left, right);
      if (valid) return true;
      if (known) return false;
    }
    if (left.kind === "parameter") return this.substitutes(right, left).valid;
    if (isDynamic(left) || isDynamic(right)) return true;
    if (left.kind === "null_type" || right.kind === "null_type") {
      const other = left.kind === "null_type" ? right : left;
      return other.kind === "null_type" || isNullable(other);
    }
    if (left.kind !== right.kind) return false;
    if (left.kind === "type") return true;
    if (left.name !== right.name || left.parameters.length !== right.parameters.length) {
      return false;
    }
    return left.parameters.every((own, index) => this.assignable(own, parameterOf(right, index)));
  }

  /** Whether the variable can be substituted by `type`; if so, records the substitution. */
  private substitutes(type: CelType, variable: CelType): { valid: boolean; known: boolean } {
    if (sameType(type, variable)) return { valid: true, known: true };
    const present = this.get(variable.name);
    if (present === undefined) {
      if (this.occurs(variable, type)) return { valid: false, known: false };
      this.found.set(variable.name, type);
      return { valid: true, known: false };
    }
    if (sameType(type, present)) return { valid: true, known: true };
    if (!this.assignable(type, present)) return { valid: false, known: true };
    const general = mostGeneral(type, present);
    if (!this.occurs(variable, general)) this.found.set(variable.name, general);
    return { valid: true, known: true };
  }

  private occurs(variable: CelType, type: CelType): boolean {
    if (type.kind === "parameter") {
      if (type.name === variable.name) return true;
      const next = this.get(type.name);
      return next !== undefined && this.occurs(variable, next);
    }
    return type.parameters.some((part) => this.occurs(variable, part));
  }
}

function isDynamic(type: CelType): boolean {
  return type.kind === "dyn" || type.kind === "error";
}

function isNullable(type: CelType): boolean {
  return ["opaque", "object", "timestamp", "duration"].includes(type.kind);
}

/** The more general of two compatible types. */
export function mostGeneral(left: CelType, right: CelType): CelType {
  if (right.kind === "null_type") return left;
  return isAtLeastAsGeneral(left, right) ? left : right;
}

function isAtLeastAsGeneral(left: CelType, right: CelType): boolean {
  if (left.kind === "dyn" || left.kind === "parameter") return true;
  if (right.kind === "dyn" || right.kind === "parameter") return false;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  if (left.kind === "type") return true;
  if (left.parameters.length !== right.parameters.length) return false;
  return left.parameters.every((own, index) => isAtLeastAsGeneral(own, parameterOf(right, index)));
}

/** Applies the substitutions to a type; free variables stay, or become dyn. */
export function substitute(mapping: Mapping, type: CelType, freeToDyn = false): CelType {
  if (type.kind === "parameter") {
    const known = mapping.get(type.name);
    if (known !== undefined) return substitute(mapping, known, freeToDyn);
    return freeToDyn ? dyn : type;
  }
  if (type.parameters.length === 0) return type;
  const parameters = type.parameters.map((part) => substitute(mapping, part, freeToDyn));
  const same = parameters.every((part, index) => part === type.parameters[index]);
  return same ? type : { ...type, parameters };
}

/** The parameter of an optional type, or the type itself. */
export function unwrapped(type: CelType): CelType {
  return isOptional(type) ? parameterOf(type) : type;
}
