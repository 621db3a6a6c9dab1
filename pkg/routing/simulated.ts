/** Marks of simulated nodes and their pods in the API. */

/** Prefix of the annotations and labels of simulated nodes and their pods. */
export const simulationPrefix = "simulated.keelson.dev";

/** Label of simulated nodes; its value is `true`. */
export const simulatedNodeLabel = `${simulationPrefix}/node`;

/** Annotation of a simulated node: the ranges of its pods' addresses, separated by commas. */
export const podCidrsAnnotation = `${simulationPrefix}/pod-cidrs`;

/** Annotation of a pod: address to which connections to its ports go, `host:port` or `80=host:port,…`. */
export const portForwardAnnotation = `${simulationPrefix}/port-forward`;

/** Value for a container or port in `5` (all) or `app=5,proxy=0`; undefined = not listed. */
export function perName(text: string | undefined, wanted: string): string | undefined {
  if (text === undefined || !text.includes("=")) return text;
  for (const pair of text.split(",")) {
    const [name = "", value = ""] = pair.split("=");
    if (name.trim() === wanted) return value.trim();
  }
  return undefined;
}
