/** Which taints the pods of a namespace tolerate, and may (PodTolerationRestriction). */
import { qualityClassOf } from "#api";
import { type Domain, plainFailure, resolve } from "#meta";
import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import { known, listIn, recordOf, typed } from "../../configuration/fields.ts";
import { isFor, type ObjectReader } from "../../objects.ts";
import { Coverage, mergeTolerations, type Toleration } from "./default-toleration-seconds.ts";

/** For namespaces that do not say it themselves. */
export interface PodTolerations {
  readonly usual: readonly Toleration[];
  /** Pods may tolerate these; none = all. */
  readonly allowed: readonly Toleration[];
}

/** @throws AdmissionConfigurationFault */
export function podTolerationsIn(value: unknown, domain: Domain): PodTolerations {
  const type = { group: "podtolerationrestriction.admission.{api}", kind: "Configuration" };
  const fields = typed(value, type, domain);
  known(fields, ["apiVersion", "kind", "default", "whitelist"], "PodTolerationRestriction");
  const tolerations = (key: string): readonly Toleration[] =>
    listIn(fields, key).map((each) => recordOf(each, key));
  return { usual: tolerations("default"), allowed: tolerations("whitelist") };
}

export interface PodTolerationParts {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  readonly configured: PodTolerations;
}

export function giveTolerations(parts: PodTolerationParts): AdmissionHandler {
  return async (attributes) => {
    if (!isWrittenPod(attributes)) return [];
    const { spec, status } = attributes.object;
    const own: readonly Toleration[] = spec.tolerations ?? [];
    let all = attributes.operation === "create" ? await usualOf(parts, attributes) : [];
    all = mergeTolerations(all, own);
    if ((status?.qosClass || qualityClassOf(spec)) !== "BestEffort") {
      const key = resolve("node.{label}/memory-pressure", parts.domain);
      all = mergeTolerations(all, [{ key, operator: "Exists", effect: "NoSchedule" }]);
    }
    if (all.length > 0) spec.tolerations = all;
    await refuseOthers(parts, attributes);
    return [];
  };
}

/** Once more when all others have had their say. */
export function allowedTolerations(parts: PodTolerationParts): AdmissionHandler {
  return async (attributes) => {
    if (isWrittenPod(attributes)) await refuseOthers(parts, attributes);
    return [];
  };
}

async function refuseOthers(
  parts: PodTolerationParts,
  attributes: AdmissionAttributes,
): Promise<void> {
  const own: readonly Toleration[] = attributes.object.spec.tolerations ?? [];
  if (own.length === 0) return;
  const named = await ofNamespace(parts, attributes, "tolerationsWhitelist");
  const allowed = named ?? parts.configured.allowed;
  if (allowed.length === 0) return;
  const coverage = new Coverage();
  for (const each of allowed) coverage.add(each);
  if (own.every((each) => coverage.covers(each))) return;
  const which = named === undefined ? "cluster" : "namespace";
  throw plainFailure(
    "pod tolerations (possibly merged with namespace default tolerations) " +
      `conflict with its ${which} whitelist`,
  );
}

function isWrittenPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && ["create", "update"].includes(attributes.operation);
}

async function usualOf(
  parts: PodTolerationParts,
  attributes: AdmissionAttributes,
): Promise<readonly Toleration[]> {
  const named = await ofNamespace(parts, attributes, "defaultTolerations");
  return named ?? parts.configured.usual;
}

/** What an annotation of the namespace lists; undefined where it has none. */
async function ofNamespace(
  { objects, domain }: PodTolerationParts,
  { request }: AdmissionAttributes,
  name: string,
): Promise<readonly Toleration[] | undefined> {
  const key = resolve(`scheduler.alpha.{label}/${name}`, domain);
  const text = await objects.annotationOfNamespace(request, key);
  if (text === undefined) return undefined;
  if (text === "") return [];
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list) && list.every((each) => typeof each === "object" && each !== null)) {
      return list;
    }
  } catch {
    // Told below, with all else that is no list.
  }
  throw plainFailure(`annotation ${key} of the namespace is not a list of tolerations`);
}
