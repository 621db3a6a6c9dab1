import { parseJsonText } from "#base";
import { qualityClassOf } from "#api";
import { type Domain, plainFailure, resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { known, listIn, recordOf, typed } from "../../configuration/fields.ts";
import { isFor, type ObjectReader } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { Coverage, mergeTolerations, type Toleration } from "./tolerations.ts";

/** Cluster defaults, for namespaces without annotations. */
interface PodTolerations {
  readonly defaults: readonly Toleration[];
  /** Allowed tolerations; empty = all. */
  readonly whitelist: readonly Toleration[];
}

/** @throws AdmissionConfigurationFault */
function podTolerationsIn(value: unknown, domain: Domain): PodTolerations {
  const type = { group: "podtolerationrestriction.admission.{api}", kind: "Configuration" };
  const fields = typed(value, type, domain);
  known(fields, ["apiVersion", "kind", "default", "whitelist"], "PodTolerationRestriction");
  const tolerations = (key: string): readonly Toleration[] =>
    listIn(fields, key).map((each) => recordOf(each, key));
  return { defaults: tolerations("default"), whitelist: tolerations("whitelist") };
}

interface PodTolerationParts {
  readonly objects: ObjectReader;
  readonly domain: Domain;
  readonly configured: PodTolerations;
}

/**
 * Merges default tolerations (namespace annotation, else configuration) into a pod, and rejects tolerations
 * outside the whitelist.
 */
export const podTolerationRestriction: AdmissionPlugin<PodTolerations> = {
  name: "PodTolerationRestriction",
  enabled: "optional",
  resources: ["pods"],
  parseConfiguration: (value, { domain }) => podTolerationsIn(value, domain),
  create({ objects, domain }, configured = { defaults: [], whitelist: [] }) {
    const parts = { objects, domain, configured };
    return {
      mutate: (attributes) =>
        isWrittenPod(attributes) ? mergeDefaults(parts, attributes) : undefined,
      validate: (attributes) =>
        isWrittenPod(attributes) ? checkWhitelist(parts, attributes) : undefined,
    };
  },
};

async function mergeDefaults(
  parts: PodTolerationParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const { spec, status } = attributes.object;
  const isCreate = attributes.operation === "create";
  const extra = [...(isCreate ? await defaultsFor(parts, attributes) : [])];
  if ((status?.qosClass || qualityClassOf(spec)) !== "BestEffort") {
    const key = resolve("node.{label}/memory-pressure", parts.domain);
    extra.push({ key, operator: "Exists", effect: "NoSchedule" });
  }
  if (extra.length > 0) spec.tolerations = mergeTolerations(spec.tolerations ?? [], extra);
  return checkWhitelist(parts, attributes);
}

async function checkWhitelist(
  parts: PodTolerationParts,
  attributes: AdmissionAttributes,
): Promise<readonly string[]> {
  const own: readonly Toleration[] = attributes.object.spec.tolerations ?? [];
  if (own.length === 0) return [];
  const named = await namespaceTolerations(parts, attributes, "tolerationsWhitelist");
  const allowed = named ?? parts.configured.whitelist;
  if (allowed.length === 0) return [];
  const coverage = new Coverage();
  for (const each of allowed) coverage.add(each);
  if (own.every((each) => coverage.covers(each))) return [];
  const which = named === undefined ? "cluster" : "namespace";
  throw plainFailure(
    "pod tolerations (possibly merged with namespace default tolerations) " +
      `conflict with its ${which} whitelist`,
  );
}

function isWrittenPod(attributes: AdmissionAttributes): boolean {
  return isFor(attributes, "", "pods") && ["create", "update"].includes(attributes.operation);
}

async function defaultsFor(
  parts: PodTolerationParts,
  attributes: AdmissionAttributes,
): Promise<readonly Toleration[]> {
  const named = await namespaceTolerations(parts, attributes, "defaultTolerations");
  return named ?? parts.configured.defaults;
}

/** Tolerations in a namespace annotation; undefined = no annotation. */
async function namespaceTolerations(
  { objects, domain }: PodTolerationParts,
  { request }: AdmissionAttributes,
  name: string,
): Promise<readonly Toleration[] | undefined> {
  const key = resolve(`scheduler.alpha.{label}/${name}`, domain);
  const text = await objects.annotationOfNamespace(request, key);
  if (text === undefined) return undefined;
  if (text === "") return [];
  try {
    const list: unknown = parseJsonText(text);
    if (Array.isArray(list) && list.every((each) => typeof each === "object" && each !== null)) {
      return list;
    }
  } catch {
    // Reported below, as any value that is not a list.
  }
  throw plainFailure(`annotation ${key} of the namespace is not a list of tolerations`);
}
