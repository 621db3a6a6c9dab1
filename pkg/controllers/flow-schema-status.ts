import { resolve, type Resource } from "#meta";
import { type ControllerOptions, isConflict, isNotFound, observe, serverTarget } from "./access.ts";
import { WorkQueue } from "./work-queue.ts";

const fieldManager = "api-priority-and-fairness-config-consumer-v1";
const TYPE = "Dangling";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface FlowSchema {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly priorityLevelConfiguration: { readonly name: string } };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * Says in the status of every flow schema whether its priority level is there. Any number of
 * replicas may run it: they agree, and what is already said is not written again.
 */
export async function runFlowSchemaStatus(options: ControllerOptions): Promise<void> {
  const { catalog } = options;
  const group = resolve("flowcontrol.apiserver.{api}", catalog.domain);
  const resource = catalog.find(group, "v1", "flowschemas");
  const levelResource = catalog.find(group, "v1", "prioritylevelconfigurations");
  if (resource === undefined || levelResource === undefined) return;
  const schemas = new Map<string, FlowSchema>();
  const levels = new Set<string>();
  // Half a list of levels must not pass for all of them.
  let isWhole = false;
  const queue = new WorkQueue({
    ...options,
    work: async (name) => {
      const schema = schemas.get(name);
      if (schema === undefined || !isWhole) return;
      const isThere = levels.has(schema.spec.priorityLevelConfiguration.name);
      const condition = conditionOf(schema, isThere, options.clock.now());
      if (condition !== undefined) await write(options, resource, { name, condition });
    },
  });
  const reconsider = () => {
    for (const name of schemas.keys()) queue.add(name);
  };
  await Promise.all([
    queue.run(),
    observe(options, levelResource, {
      restarted: () => {
        isWhole = false;
        levels.clear();
      },
      synced: () => {
        isWhole = true;
        reconsider();
      },
      changed: ({ object }, type) => {
        const { name } = object.metadata;
        if (type === "DELETED") levels.delete(name);
        else if (levels.has(name)) return;
        else levels.add(name);
        if (isWhole) reconsider();
      },
    }),
    observe(options, resource, {
      restarted: () => schemas.clear(),
      changed: ({ object }, type) => {
        const { name } = object.metadata;
        if (type === "DELETED") schemas.delete(name);
        else {
          schemas.set(name, object);
          queue.add(name);
        }
      },
    }),
  ]);
}

/** The condition that the schema should have; undefined if it has it. */
function conditionOf(
  { spec, status }: FlowSchema,
  isThere: boolean,
  now: number,
): Condition | undefined {
  const present = status?.conditions?.find(({ type }) => type === TYPE);
  const name = JSON.stringify(spec.priorityLevelConfiguration.name);
  const object = `the PriorityLevelConfiguration object named ${name}`;
  const state = isThere ? "and it exists" : "but there is no such object";
  const wanted = {
    type: TYPE,
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

async function write(
  { registry, signal }: ControllerOptions,
  resource: Resource,
  { name, condition }: { readonly name: string; readonly condition: Condition },
): Promise<void> {
  const { groupVersion: apiVersion, kind } = resource;
  const status = { conditions: [condition] };
  const object = { apiVersion, kind: kind.kind, metadata: { name }, status };
  const body = { bytes: Buffer.from(JSON.stringify(object)), format: "json" } as const;
  const target = serverTarget(resource, { name, subresource: "status" }, signal);
  const options = { dryRun: false, fieldManager, fieldValidation: "Ignore" } as const;
  try {
    await registry.patch(target, body, { ...options, patchType: "apply", force: true });
  } catch (error) {
    // Gone, or changed meanwhile: either comes back as an event.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
