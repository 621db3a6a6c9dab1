import type { ApiObject, Handle } from "#client";
import { groupVersionOf, isConflict, isNotFound, resolve } from "#meta";
import { type ControllerContext, enqueueOnChange, newWorkQueue } from "../controller-context.ts";

const fieldManager = "api-priority-and-fairness-config-consumer-v1";
const danglingType = "Dangling";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface FlowSchema extends ApiObject {
  readonly spec: { readonly priorityLevelConfiguration: { readonly name: string } };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * Maintains the condition Dangling of every FlowSchema: whether its PriorityLevelConfiguration is missing.
 * Runs on all replicas; writes only changes.
 */
export async function runFlowSchemaStatus(context: ControllerContext): Promise<void> {
  const { client, informers, clock } = context;
  const group = resolve("flowcontrol.apiserver.{api}", client.domain);
  const served = { group, version: "v1", namespaced: false };
  const resource: Handle<FlowSchema> = { ...served, plural: "flowschemas", kind: "FlowSchema" };
  const kind = "PriorityLevelConfiguration";
  const levelResource: Handle = { ...served, plural: "prioritylevelconfigurations", kind };
  const schemas = informers.of(resource);
  const levels = informers.of(levelResource);
  const queue = newWorkQueue(context, "flow_schema_status");
  // An incomplete list would mark schemas as dangling.
  await Promise.all([schemas.untilSynced(), levels.untilSynced()]);
  enqueueOnChange(queue, schemas, ({ object }) => [object.metadata.name]);
  enqueueOnChange(queue, levels, ({ type }) =>
    type === "updated" ? [] : [...schemas.all()].map(({ metadata }) => metadata.name),
  );
  await queue.run(async (name) => {
    const schema = schemas.get(name);
    if (schema === undefined) return;
    const isThere = levels.get(schema.spec.priorityLevelConfiguration.name) !== undefined;
    const condition = conditionOf(schema, isThere, clock.now());
    if (condition === undefined) return;
    const apiVersion = groupVersionOf(group, "v1");
    const status = { conditions: [condition] };
    const body = { apiVersion, kind: resource.kind, metadata: { name }, status };
    const apply = { type: "apply", body, fieldManager, force: true } as const;
    await client.patch(resource, { name, subresource: "status" }, apply).catch((error: unknown) => {
      // Deleted or changed meanwhile: the informer event requeues a changed one.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  });
}

/** The condition to write; undefined = up to date. */
function conditionOf(
  { spec, status }: FlowSchema,
  isThere: boolean,
  now: number,
): Condition | undefined {
  const present = status?.conditions?.find(({ type }) => type === danglingType);
  const name = JSON.stringify(spec.priorityLevelConfiguration.name);
  const object = `the PriorityLevelConfiguration object named ${name}`;
  const state = isThere ? "and it exists" : "but there is no such object";
  const wanted = {
    type: danglingType,
    status: isThere ? "False" : "True",
    reason: isThere ? "Found" : "NotFound",
    message: `This FlowSchema references ${object} ${state}`,
  };
  if (present?.status !== wanted.status) {
    const seconds = new Date(now).toISOString().slice(0, "2006-01-02T15:04:05".length);
    return { ...wanted, lastTransitionTime: `${seconds}Z` };
  }
  const { reason, message, lastTransitionTime } = present;
  if (reason === wanted.reason && message === wanted.message) return undefined;
  return { ...wanted, lastTransitionTime };
}
