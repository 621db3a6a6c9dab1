import { writeOptionsAsked } from "../admission/options.ts";
import { decodeBody } from "../write/decode-body.ts";
import type { Body, Target, WriteAnswer, WriteOptions, Answerer } from "../contract.ts";
import { type Environment, hookContext } from "../context.ts";
import { matchNamespace } from "../write/metadata.ts";
import { own } from "../write/managed-fields.ts";
import { admitAll } from "../write/pipeline.ts";
import { madeItem, spokenResource } from "./made-item.ts";

/** The `create` of a path that somebody answers. */
export function asking({ speaks, answer }: Answerer) {
  return async (
    environment: Environment,
    target: Target,
    { body, options }: { readonly body: Body; readonly options: WriteOptions },
  ): Promise<WriteAnswer> => {
    const resource =
      speaks === undefined
        ? target.resource
        : spokenResource(environment, speaks.groupVersion, speaks.kind);
    const decoded = decodeBody(environment, { ...target, resource }, body, options);
    const { object, warnings } = decoded;
    matchNamespace(target, object.metadata);
    const { dryRun, fieldManager } = options;
    own(environment, { ...target, resource }, { object, old: undefined, fieldManager });
    const context = hookContext(environment, target);
    // Reviews may ask about namespaces that are not there; what belongs to an object may not.
    if (target.subresource !== "") {
      const asked = writeOptionsAsked("CreateOptions", options);
      const written = { target, dryRun, object, old: undefined, spoken: resource, options: asked };
      await admitAll(environment, { ...written, operation: "create" }, warnings);
    }
    const warn = (text: string) => void warnings.push(text);
    const answered = await answer({ target, object, dryRun, context, warn });
    return { item: madeItem(resource, answered, 0), created: true, warnings };
  };
}
