import { type Domain, resolve } from "#meta";
import type { AdmissionHandler } from "#registry";
import { annotation, defaultAmong } from "../default-class.ts";
import { isFor, type ObjectReader } from "../../objects.ts";

const group = "networking.{api}";

/** Ingresses that name no class get the default one, if there is one. */
export function defaultIngressClass(objects: ObjectReader, domain: Domain): AdmissionHandler {
  const old = resolve("{label}/ingress.class", domain);
  const mark = resolve("ingressclass.{label}/is-default-class", domain);
  return async (attributes) => {
    const { request, object, operation } = attributes;
    if (!isFor(attributes, group, "ingresses") || operation !== "create") return [];
    const { metadata, spec } = object;
    if (spec.ingressClassName !== undefined || annotation(metadata, old) !== undefined) return [];
    const all = await objects.list({ group, plural: "ingressclasses" }, request.context);
    const found = defaultAmong(all, [mark]);
    if (found !== undefined) spec.ingressClassName = found.metadata.name;
    return [];
  };
}
