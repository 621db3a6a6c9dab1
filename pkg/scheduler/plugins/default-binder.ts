import type { ApiObject, Handle } from "#client";
import { namespaceOf } from "#kinds";
import type { Plugin } from "../framework/contract.ts";
import type { PluginHandle } from "../framework/handle.ts";
import { errorStatus } from "../framework/status.ts";

const name = "DefaultBinder";

interface Binding extends ApiObject {
  readonly target: { readonly kind: "Node"; readonly name: string };
}

/** Subresource `binding` of pods. */
const bindings: Handle<Binding> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Binding",
  namespaced: true,
};

/** DefaultBinder: binds pods by the API. */
export function defaultBinder({ client, inOrder }: PluginHandle): Plugin {
  return {
    name,
    bind: async ({ pod }, node) => {
      const { name: podName, uid } = pod.metadata;
      const metadata = { namespace: namespaceOf(pod), name: podName, uid };
      const binding = { metadata, target: { kind: "Node", name: node } } as const;
      try {
        await inOrder(pod, () => client.create(bindings, binding, { subresource: "binding" }));
        return undefined;
      } catch (error) {
        return errorStatus(name, error);
      }
    },
  };
}
