/** Declarations of variables, functions and types. */
import type { Declarations } from "./check/checker.ts";
import type { FunctionDeclaration, Library } from "./check/declare.ts";
import { calendarLibrary } from "./library/calendar.ts";
import { conversionLibrary } from "./library/conversions.ts";
import { optionalLibrary } from "./library/optionals.ts";
import { patternLibrary } from "./library/kubernetes/patterns.ts";
import { standardLibrary } from "./library/standard.ts";
import { stringLibrary } from "./library/strings.ts";
import { jsonPatchLibrary } from "./library/kubernetes/json-patches.ts";
import { kubernetesLibraries } from "./library/kubernetes/libraries.ts";
import { unescapeProperty } from "./syntax/escape.ts";
import { type CelType, dyn, objectOf, type ObjectField } from "./check/types.ts";

export interface EnvironmentOptions {
  /** Types of the variables by name; names may be qualified (`authorizer.requestResource`). */
  readonly variables: Readonly<Record<string, CelType>>;
  /** Objects that expressions may construct, by name. */
  readonly types?: Readonly<Record<string, CelType>>;
  /**
   * Name of a type (`Object`) whose objects expressions construct with arbitrary fields; nested types
   * are named by path (`Object.spec`).
   */
  readonly openType?: string;
  /**
   * Whether expressions that always fail are rejected (default true, as in Kubernetes): invalid literal
   * patterns, times and `format` clauses, and literals of mixed types.
   */
  readonly validates?: boolean;
  /** Whether the macro `cel.bind(name, value, expression)` is enabled; default false. */
  readonly bindings?: boolean;
}

/**
 * Declarations of variables and functions. Creating one is expensive because of its functions: derive
 * others with `extend`, which shares them.
 */
export class Environment implements Declarations {
  readonly validates: boolean;
  readonly bindings: boolean;
  private readonly variables: ReadonlyMap<string, CelType>;
  private readonly types: ReadonlyMap<string, CelType>;
  private readonly openType: string | undefined;

  private constructor(
    private readonly library: Loaded,
    options: EnvironmentOptions,
  ) {
    this.variables = new Map(Object.entries(options.variables));
    this.types = new Map(Object.entries(options.types ?? {}));
    this.openType = options.openType;
    this.validates = options.validates ?? true;
    this.bindings = options.bindings ?? false;
  }

  /** An environment with all of Kubernetes' libraries. */
  static kubernetes(options: EnvironmentOptions): Environment {
    const libraries = [
      standardLibrary,
      conversionLibrary,
      calendarLibrary(),
      patternLibrary(),
      optionalLibrary,
      stringLibrary,
      ...kubernetesLibraries,
    ];
    return new Environment(load(libraries), options);
  }

  /** The same functions with other variables. */
  extend(options: EnvironmentOptions): Environment {
    return new Environment(this.library, options);
  }

  variable(name: string): CelType | undefined {
    return this.variables.get(name);
  }

  function(name: string): FunctionDeclaration | undefined {
    const known = this.library.functions.get(name);
    return known ?? (this.openType === undefined ? undefined : patches.functions.get(name));
  }

  type(name: string): CelType | undefined {
    const declared = this.types.get(name) ?? this.library.types.get(name);
    if (declared !== undefined || this.openType === undefined) return declared;
    const patch = patches.types.get(name);
    if (patch !== undefined) return patch;
    const isOpen = name === this.openType || name.startsWith(`${this.openType}.`);
    return isOpen ? openType(name) : undefined;
  }
}

/** Loaded only in environments that construct objects (mutations). */
const patches = load([jsonPatchLibrary]);

/** An object type with arbitrary fields. */
function openType(name: string): CelType {
  const field = (spelt: string): ObjectField => ({
    key: unescapeProperty(spelt) ?? spelt,
    type: dyn,
  });
  return objectOf({ name, field });
}

interface Loaded {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly types: ReadonlyMap<string, CelType>;
}

/** Merges libraries; overloads of one name are combined. */
function load(libraries: readonly Library[]): Loaded {
  const functions = new Map<string, FunctionDeclaration>();
  const types = new Map<string, CelType>();
  for (const library of libraries) {
    for (const { name, overloads } of library.functions) {
      const present = functions.get(name)?.overloads ?? [];
      functions.set(name, { name, overloads: [...present, ...overloads] });
    }
    for (const type of library.types ?? []) types.set(type.name, type);
  }
  return { functions, types };
}
