import { type ConfigMap, configMaps } from "#kinds";
import type { ControllerContext } from "../controller-context.ts";
import { runPerNamespaceObject } from "./per-namespace-object.ts";

const key = "ca.crt";

/**
 * Maintains the ConfigMap `kube-root-ca.crt` in every namespace: CA certificates (PEM) by which pods verify
 * the API server.
 */
export function runRootCaPublisher(context: ControllerContext, authorities: string): Promise<void> {
  const data = { [key]: authorities };
  return runPerNamespaceObject<ConfigMap>(context, {
    controller: "root_ca_cert_publisher",
    resource: configMaps,
    name: "kube-root-ca.crt",
    content: { data },
    repaired: (present) => (isExactly(present.data, authorities) ? present : { ...present, data }),
  });
}

function isExactly(data: ConfigMap["data"] = {}, authorities: string): boolean {
  return data[key] === authorities && Object.keys(data).length === 1;
}
