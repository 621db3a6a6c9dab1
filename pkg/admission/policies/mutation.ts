/** Applies one mutation of a MutatingAdmissionPolicy. */
import { deepEqual } from "#base";
import {
  CelFault,
  configurationJson,
  ListValue,
  MapValue,
  plainJson,
  typeNameFaults,
  type Value,
} from "#cel";
import {
  atomicPaths,
  configurationFault,
  ElementError,
  GoNative,
  mergeConfiguration,
  rootShape,
} from "#fieldmanager";
import { type Catalog, goQuote, internalError, jsonPatch, PatchFault, type Resource } from "#meta";
import { converterMessage } from "#registry";
import { DecodeFault } from "#schema";
import {
  CostBudgetError,
  type Evaluation,
  type Expression,
  type Json,
  kindFault,
} from "../dynamic/index.ts";
import type { PolicyInput } from "./input.ts";

export interface Mutation {
  readonly place: "applyConfiguration" | "jsonPatch";
  readonly expression: Expression;
}

/** A mutation that cannot be applied. */
class MutationFault extends Error {
  override readonly name = "MutationFault";
}

interface Applying {
  /** The resource in whose version the object is changed. */
  readonly as: Resource;
  readonly catalog: Catalog;
  readonly evaluation: Evaluation;
}

type Applied =
  | { readonly isChanged: boolean; readonly error?: undefined }
  | { readonly isChanged?: undefined; readonly error: string };

/**
 * Evaluates a mutation and changes the object. @throws StatusError if a patch makes the object invalid,
 * which fails the request regardless of failurePolicy
 */
export async function applyMutation(
  { place, expression }: Mutation,
  input: PolicyInput,
  applying: Applying,
): Promise<Applied> {
  const before = (await input.reviewed.value("object", applying.as)) ?? {};
  try {
    const { value, error } = await applying.evaluation.run(expression);
    if (error !== undefined) return { error };
    checkTypeNames(value, place);
    const isChanged =
      place === "jsonPatch"
        ? await patchObject(before, value, { input, ...applying })
        : await mergeObject(before, value, { input, ...applying });
    return { isChanged };
  } catch (fault) {
    const isKnown =
      fault instanceof MutationFault ||
      fault instanceof CostBudgetError ||
      fault instanceof ElementError;
    if (!isKnown) throw fault;
    return { error: fault.message };
  }
}

interface Changing extends Applying {
  readonly input: PolicyInput;
}

async function patchObject(
  before: Json,
  value: Value,
  { input, as, catalog }: Changing,
): Promise<boolean> {
  const after = patched(before, operationsOf(value));
  if (deepEqual(before, after)) return false;
  const wrongKind = kindFault({ before, after, catalog, as });
  if (wrongKind !== undefined) {
    const { message, isUnknown } = wrongKind;
    throw internalError(isUnknown ? message : `failed to convert object: ${message}`);
  }
  try {
    await input.reviewed.change(after, as, (paths) => {
      const fields = paths.map((path) => `unknown field ${goQuote(path)}`);
      if (fields.length > 0) throw internalError(`strict decoding error: ${fields.join(", ")}`);
    });
  } catch (fault) {
    if (fault instanceof DecodeFault) throw internalError(fault.message);
    throw fault;
  }
  return true;
}

async function mergeObject(before: Json, value: Value, { input, as }: Changing): Promise<boolean> {
  const wanted = configurationJson(value, (formats) => new GoNative(formats)) as Json;
  const after = merged(as, before, wanted);
  if (deepEqual(before, after)) return false;
  try {
    await input.reviewed.change(after, as);
  } catch (fault) {
    if (!(fault instanceof DecodeFault)) throw fault;
    const { group, version, kind } = input.reviewed.kindIn(as);
    const named = `${group}/${version}, Kind=${kind}`;
    const why = converterMessage(fault.message);
    throw new MutationFault(`unable to convert unstructured object to ${named}: ${why}`);
  }
  return true;
}

/** The operations of a JSON patch; `op` and `path` are strings even if they are not given. */
function operationsOf(value: Value): readonly object[] {
  try {
    const operations = plainJson(value) as readonly object[];
    return operations.map((operation) => ({ op: "", path: "", ...operation }));
  } catch (fault) {
    if (!(fault instanceof CelFault)) throw fault;
    const what = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
    throw new MutationFault(`${what}: ${fault.message}`);
  }
}

/** Checks the type names of constructed objects: their path in the object, or in a patch's value. */
function checkTypeNames(value: Value, place: Mutation["place"]): void {
  const isPatch = place === "jsonPatch" && value instanceof ListValue;
  const roots = isPatch ? [...value].map((patch) => patchValue(patch)) : [value];
  for (const root of roots) {
    const faults = root instanceof MapValue ? typeNameFaults(root) : [];
    if (faults.length > 0) throw new MutationFault(`type mismatch: ${faults.join("\n")}`);
  }
}

function patchValue(patch: Value): Value {
  return patch instanceof MapValue ? (patch.field("value") ?? null) : null;
}

/** Applies a JSON patch; a failing `test` operation leaves the object unchanged. */
function patched(before: Json, patch: readonly object[]): Json {
  try {
    return jsonPatch(before, patch) as Json;
  } catch (fault) {
    if (!(fault instanceof PatchFault)) throw fault;
    if (fault.message.endsWith(" failed: test failed")) return before;
    throw new MutationFault(`JSON Patch: ${fault.message}`);
  }
}

/** Merges like server-side apply, but without managed fields: never removes fields. */
function merged(as: Resource, before: Json, wanted: Json): Json {
  const shape = rootShape(as.struct);
  const { kind, apiVersion, ...object } = before;
  const wrong = configurationFault(shape, wanted);
  if (wrong !== "") {
    const what = "failed to convert patch object to typed object";
    throw new MutationFault(`error applying patch: ${what}: ${wrong}`);
  }
  const atomic = atomicPaths(shape, wanted);
  if (atomic.length > 0) {
    const why = "may not mutate atomic arrays, maps or structs";
    throw new MutationFault(
      `error applying patch: invalid ApplyConfiguration: ${why}: ${atomic.join(", ")}`,
    );
  }
  return { kind, apiVersion, ...mergeConfiguration(shape, object, wanted) };
}
