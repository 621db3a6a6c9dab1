/** Test helpers that run the hooks of a kind for one write and report problems as text. */
import { applyDefaults, checkFields, fromJson, Path, Problems } from "#schema";
import { type HookContext, type Kind, type KindVersion, kubernetes } from "#meta";
import { deepClone } from "#base";
import { featureGates } from "./features/feature-gates.ts";

export interface Write {
  readonly namespace?: string;
  /** API version of the client's object, as the kind declares it; absent = the hub. */
  readonly version?: string;
  readonly group?: string;
  readonly subresource?: string;
  /** Enabled feature gates. */
  readonly gates?: readonly string[];
}

export interface Outcome {
  /** Object in the hub version, defaulted and prepared. */
  readonly object: any;
  /** `Invalid spec.x = 5: must be less`: type, field, value where there is one, detail. */
  readonly complaints: readonly string[];
}

/** The client's JSON, for tests that specify only some fields. */
export type Sketch = Readonly<Record<string, unknown>>;

const byDefault = featureGates(new Map());

function contextOf(kind: Kind, write: Write): HookContext {
  const hub = kind.versions.find(({ convert }) => convert === "hub");
  return {
    now: 0,
    gate: (name) => write.gates?.includes(name) ?? byDefault(name),
    domain: kubernetes,
    requestGroup: write.group ?? hub?.group ?? kind.group,
    requestVersion: write.version ?? hub?.version ?? "",
    subresource: write.subresource ?? "",
  };
}

function versionOf(kind: Kind, context: HookContext): KindVersion {
  const found = kind.versions.find(
    ({ group = kind.group, version }) =>
      group === context.requestGroup && version === context.requestVersion,
  );
  if (found === undefined) throw new Error(`${kind.kind} has no ${context.requestVersion}`);
  return found;
}

function decode(kind: Kind, sketch: Sketch, write: Write): any {
  const context = contextOf(kind, write);
  const served = versionOf(kind, context);
  const namespaced = kind.scope === "Namespaced" ? { namespace: write.namespace ?? "default" } : {};
  const metadata = { name: "x", ...namespaced, ...(sketch["metadata"] ?? {}) };
  const decoded = fromJson(served.struct, deepClone({ ...sketch, metadata }));
  applyDefaults(served.struct, decoded);
  const object = served.convert === "hub" ? decoded : served.convert.up(decoded);
  kind.hooks.default?.(object, context);
  return object;
}

function complaintsOf(problems: Problems): string[] {
  return problems.list.map(({ type, field, value, detail }) => {
    const shown = value === undefined ? "" : ` = ${JSON.stringify(value)}`;
    const why = detail === "" ? "" : `: ${detail}`;
    return `${type.replace("FieldValue", "")} ${field}${shown}${why}`;
  });
}

/** A client's object in the hub version with defaults, not yet prepared. */
export const defaulted = (kind: Kind, sketch: Sketch): any => decode(kind, sketch, {});

/** Result of creating the object. */
export function created(kind: Kind, sketch: Sketch, write: Write = {}): Outcome {
  const context = contextOf(kind, write);
  const object = decode(kind, sketch, write);
  kind.hooks.prepareCreate?.(object, context);
  const problems = new Problems();
  checkFields(structOf(kind), object, Path.root, problems);
  kind.hooks.validate?.(object, problems, context);
  const complaints = complaintsOf(problems);
  kind.hooks.prepareStored?.(object);
  return { object, complaints };
}

/** Result of updating `old`, the outcome of an earlier write. */
export function updated(kind: Kind, old: Outcome, sketch: Sketch, write: Write = {}): Outcome {
  const context = contextOf(kind, write);
  const object = decode(kind, sketch, write);
  kind.hooks.prepareUpdate?.(object, old.object, context);
  const problems = new Problems();
  checkFields(structOf(kind), object, Path.root, problems);
  if (kind.hooks.validateUpdate !== undefined) {
    kind.hooks.validateUpdate(object, old.object, problems, context);
  } else kind.hooks.validate?.(object, problems, context);
  const complaints = complaintsOf(problems);
  kind.hooks.prepareStored?.(object);
  return { object, complaints };
}

function structOf(kind: Kind): KindVersion["struct"] {
  const hub = kind.versions.find(({ convert }) => convert === "hub");
  if (hub === undefined) throw new Error(`${kind.kind} has no hub version`);
  return hub.struct;
}
