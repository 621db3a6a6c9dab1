import { inTurns, yieldEvery } from "#base";
import { requestBounds } from "#meta";
import { writeOperationOptions } from "../admission/options.ts";
import { decodeBody } from "../write/decode-body.ts";
import type {
  AdmissionAttributes,
  Body,
  ResourceRequest,
  WriteResponse,
  WriteOptions,
  CreateHandler,
} from "../contract.ts";
import { type RegistryContext, hookContext } from "../context.ts";
import { matchNamespace } from "../write/metadata.ts";
import { reportingWarnings } from "../write/write.ts";
import { updateManagedFields } from "../write/managed-fields.ts";
import { runAdmission } from "../admission/handler.ts";
import { virtualItem, subresourceKind } from "./virtual-item.ts";

/** Returns the `create` verb of a kind that is not stored, such as SubjectAccessReview. */
export function virtualCreate({ bodyKind, handle }: CreateHandler) {
  return async (
    registry: RegistryContext,
    request: ResourceRequest,
    { body, options }: { readonly body: Body; readonly options: WriteOptions },
  ): Promise<WriteResponse> => {
    const resource =
      bodyKind === undefined
        ? request.resource
        : subresourceKind(registry, bodyKind.groupVersion, bodyKind.kind);
    const bounded: Body = { ...body, maxWeight: requestBounds.transientWeight };
    const target = { ...request, resource };
    const pause = yieldEvery();
    const decoded = decodeBody(registry, target, bounded, options);
    const { object, warnings } = decoded;
    matchNamespace(request, object.metadata);
    await pause();
    const { dryRun, fieldManager } = options;
    const change = { object, old: undefined, fieldManager };
    await inTurns(updateManagedFields(registry, target, change), pause);
    await pause();
    // Not for reviews, whose namespace need not exist (NamespaceLifecycle).
    if (request.subresource !== "") {
      const attributes: AdmissionAttributes = {
        request,
        operation: "create",
        dryRun,
        object,
        old: undefined,
        bodyResource: resource,
        options: writeOperationOptions("CreateOptions", options),
      };
      await runAdmission(registry, attributes, warnings);
    }
    const context = hookContext(registry, request);
    const warn = (text: string) => void warnings.push(text);
    const run = async () => handle({ request, object, dryRun, context, warn });
    const result = await reportingWarnings(warnings, run);
    const turn = pause();
    if (turn !== undefined) await turn;
    return { item: virtualItem(resource, result, 0), created: true, warnings };
  };
}
