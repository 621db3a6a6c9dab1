import type { HookContext } from "#meta";
import { splitByStatusSubresource } from "./strategy.ts";

interface HasMetadata {
  metadata: object;
}

/** Like `splitByStatusSubresource`, for kinds whose status subresource cannot change metadata. */
export function splitByStatusKeepingMetadata(
  initial: () => unknown,
): ReturnType<typeof splitByStatusSubresource> {
  const divided = splitByStatusSubresource(initial);
  return {
    ...divided,
    prepareUpdate: (object: HasMetadata, old: HasMetadata, context: HookContext) => {
      divided.prepareUpdate(object, old, context);
      if (context.subresource === "status") keepMetadata(object, old);
    },
  };
}

/** Restores all metadata except managedFields. */
function keepMetadata(object: HasMetadata, old: HasMetadata): void {
  const { managedFields, resourceVersion } = object.metadata as Record<string, unknown>;
  const metadata = { ...old.metadata } as Record<string, unknown>;
  for (const [field, value] of Object.entries({ managedFields, resourceVersion })) {
    if (value === undefined) delete metadata[field];
    else metadata[field] = value;
  }
  object.metadata = metadata;
}
