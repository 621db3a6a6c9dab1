import { type Infer, Path, value, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { formatLabels } from "../label-selector.ts";
import { column, nameColumn, nameOf } from "../printing.ts";
import { defaultPodTemplate } from "./pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "./pod/spec/pod-gates.ts";
import { type PodTemplateSpec, podTemplateSpec } from "./pod/spec/pod-spec.ts";
import { validatePodTemplate } from "./pod/spec/pod-spec-rules.ts";
import { keepsGeneration, podWarnings } from "./pod/pod-warnings.ts";

const podTemplateV1 = structs("api/core/v1")(
  "PodTemplate",
  "PodTemplate describes a template for pods. No built-in controller uses it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    template: value(
      2,
      podTemplateSpec,
      "Metadata and specification of pods created from the template.",
    ),
  },
);

type PodTemplate = Infer<typeof podTemplateV1>;

/** Table cells of a template's containers: names and images. */
export function containerCells({ spec }: PodTemplateSpec): readonly [string, string] {
  const containers = spec.containers ?? [];
  const join = (texts: readonly (string | undefined)[]) => texts.join(",");
  return [join(containers.map(({ name }) => name)), join(containers.map(({ image }) => image))];
}

export const podTemplate = kind(podTemplateV1, {
  group: "",
  kind: "PodTemplate",
  plural: "podtemplates",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: podTemplateV1, onByDefault: true, convert: "hub" }],
  rules: { generation: true, deleteReturnsObject: true },
  hooks: {
    default: ({ template }, { gate }) => defaultPodTemplate(template, gate),
    prepareCreate: ({ template }, context) =>
      dropGatedPodFields(template.spec, undefined, context.gate),
    prepareUpdate: ({ template }, old: PodTemplate, context) =>
      dropGatedPodFields(template.spec, old.template.spec, context.gate),
    validate: ({ template }, problems, context) =>
      validatePodTemplate(template, Path.of("template"), problems, context),
    warnings: (object, old, context) =>
      keepsGeneration(object, old)
        ? []
        : podWarnings(object.template, Path.of("template"), context),
  },
  columns: [
    nameColumn,
    column("Containers", "Names of the containers."),
    column("Images", "Images of the containers."),
    column("Pod Labels", "Labels of the pods."),
  ],
  row: (object) => [
    nameOf(object),
    ...containerCells(object.template),
    formatLabels(object.template.metadata.labels),
  ],
});
