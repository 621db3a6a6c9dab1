import { resolve } from "#meta";
import type { AdmissionAttributes } from "#registry";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { annotation, defaultClassOf } from "../default-class.ts";

const group = "networking.{api}";

/** Sets ingressClassName of new Ingresses without a class to the default IngressClass. */
export const defaultIngressClass: AdmissionPlugin = {
  name: "DefaultIngressClass",
  enabled: "default",
  resources: ["ingresses"],
  create({ objects, domain }) {
    const classAnnotation = resolve("{label}/ingress.class", domain);
    const defaultAnnotation = resolve("ingressclass.{label}/is-default-class", domain);
    const setClass = async ({
      request,
      object,
    }: AdmissionAttributes): Promise<readonly string[]> => {
      const classes = await objects.list({ group, plural: "ingressclasses" }, request.context);
      const found = defaultClassOf(classes, [defaultAnnotation]);
      if (found !== undefined) object.spec.ingressClassName = found.metadata.name;
      return [];
    };
    return {
      mutate: (attributes) => {
        const { object, operation } = attributes;
        if (!isFor(attributes, group, "ingresses") || operation !== "create") return undefined;
        const { metadata, spec } = object;
        const isNamed = spec.ingressClassName ?? annotation(metadata, classAnnotation);
        return isNamed === undefined ? setClass(attributes) : undefined;
      },
    };
  },
};
