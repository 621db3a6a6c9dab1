import { type ConfigMap, configMaps } from "#kinds";
import { resolve } from "#meta";
import type { ControllerContext } from "../controller-context.ts";
import { runPerNamespaceObject } from "./per-namespace-object.ts";

const key = "ca.crt";
/** kube-controller-manager's text. */
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints " +
  "such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across " +
  "distributions of Kubernetes clusters.";

/**
 * Maintains the ConfigMap `kube-root-ca.crt` in every namespace: CA certificates (PEM) by which pods verify
 * the API server, and an annotation that describes it, whose text a user may change.
 */
export function runRootCaPublisher(context: ControllerContext, authorities: string): Promise<void> {
  const data = { [key]: authorities };
  const descriptionKey = resolve("{label}/description", context.client.domain);
  const annotations = { [descriptionKey]: description };
  const repaired = (present: ConfigMap): ConfigMap => {
    const { metadata } = present;
    const isDescribed = (metadata.annotations?.[descriptionKey] ?? "") !== "";
    if (isDescribed && isExactly(present.data, authorities)) return present;
    const described = { ...metadata.annotations, ...annotations };
    return { ...present, metadata: { ...metadata, annotations: described }, data };
  };
  return runPerNamespaceObject<ConfigMap>(context, {
    controller: "root_ca_cert_publisher",
    resource: configMaps,
    name: "kube-root-ca.crt",
    annotations,
    content: { data },
    repaired,
  });
}

function isExactly(data: ConfigMap["data"] = {}, authorities: string): boolean {
  return data[key] === authorities && Object.keys(data).length === 1;
}
