import {
  required,
  type Infer,
  nullablePointer,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { isDns1123Label, isDns1123Subdomain, isPathSegmentName, kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach, mustNotChange } from "../strategy.ts";

const v1 = structs("api/networking/v1");

const ingressClassParametersReference = v1(
  "IngressClassParametersReference",
  "Reference to the object with the parameters of an IngressClass.",
  {
    apiGroup: pointer(1, string, "API group of the referenced object. Absent for the core group.", {
      protoName: "aPIGroup",
    }),
    kind: required(2, string, "Kind of the referenced object."),
    name: required(3, string, "Name of the referenced object."),
    scope: nullablePointer(
      4,
      string,
      "Scope of the object: one of Cluster, Namespace. Defaults to Cluster.",
      {
        default: "Cluster",
      },
    ),
    namespace: pointer(
      5,
      string,
      "Namespace of the referenced object. Required for scope Namespace, and not allowed for " +
        "scope Cluster.",
    ),
  },
);

const ingressClassSpec = v1(
  "IngressClassSpec",
  "Controller of an IngressClass and its parameters.",
  {
    controller: value(
      1,
      string,
      "Name of the controller that handles Ingresses of this class: a domain-prefixed path of at " +
        "most 250 characters, for example `example.com/ingress-controller`. Immutable.",
    ),
    parameters: pointer(
      2,
      ingressClassParametersReference,
      "Object with additional configuration for the controller, usually a custom resource.",
    ),
  },
);

const ingressClassV1 = v1(
  "IngressClass",
  "IngressClass represents a class of Ingresses, which select it by ingressClassName, and the " +
    "controller that implements it.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The annotation is-default-class marks the default of the cluster.",
    ),
    spec: value(2, ingressClassSpec, "Controller of the class, and its parameters."),
  },
);

type IngressClass = Infer<typeof ingressClassV1>;
type Parameters = NonNullable<IngressClass["spec"]["parameters"]>;

const maxControllerLength = 250;
const pathForm = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

/** Validates a domain-prefixed path, `example.com/path` for example. */
function checkDomainPrefixedPath(text: string, path: Path, problems: Problems): void {
  if (text === "") return problems.required(path);
  const slash = text.indexOf("/");
  const [host, rest] = [text.slice(0, slash), text.slice(slash + 1)];
  if (slash <= 0 || rest === "") {
    return problems.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")');
  }
  invalidEach(problems, path, { value: host, messages: isDns1123Subdomain(host) });
  if (new RegExp(`^${pathForm}$`).test(rest)) return;
  problems.invalid(path, rest, `Invalid path (regex used for validation is '${pathForm}')`);
}

function checkParameters(parameters: Parameters, path: Path, problems: Problems): void {
  const { apiGroup, scope, namespace } = parameters;
  if (apiGroup !== undefined) {
    const messages = isDns1123Subdomain(apiGroup);
    invalidEach(problems, path.child("apiGroup"), { value: apiGroup, messages });
  }
  for (const field of ["kind", "name"] as const) {
    const value = parameters[field];
    if (value === "") problems.required(path.child(field));
    else invalidEach(problems, path.child(field), { value, messages: isPathSegmentName(value) });
  }
  const namespacePath = path.child("namespace");
  if (scope === null) return problems.required(path.child("scope"));
  if (scope === "Cluster") {
    if (namespace !== undefined)
      problems.forbidden(namespacePath, "`parameters.scope` is set to 'Cluster'");
  } else if (scope !== "Namespace") {
    problems.notSupported(path.child("scope"), scope, ["Cluster", "Namespace"]);
  } else if (namespace === undefined) {
    problems.required(namespacePath, "`parameters.scope` is set to 'Namespace'");
  } else {
    invalidEach(problems, namespacePath, { value: namespace, messages: isDns1123Label(namespace) });
  }
}

function validate({ spec }: IngressClass, problems: Problems): void {
  const { controller = "", parameters } = spec;
  const path = Path.of("spec");
  if (Buffer.byteLength(controller) > maxControllerLength) {
    problems.tooLong(path.child("controller"), controller, maxControllerLength);
  }
  checkDomainPrefixedPath(controller, path.child("controller"), problems);
  if (parameters !== undefined) checkParameters(parameters, path.child("parameters"), problems);
}

/** Table cell of the parameters, `Kind.group/name`. */
function describe(parameters: IngressClass["spec"]["parameters"]): string {
  if (parameters === undefined) return "<none>";
  const { apiGroup, kind: about, name } = parameters;
  return `${apiGroup === undefined ? about : `${about}.${apiGroup}`}/${name}`;
}

export const ingressClass = kind(ingressClassV1, {
  group: "networking.{api}",
  kind: "IngressClass",
  plural: "ingressclasses",
  scope: "Cluster",
  versions: [{ version: "v1", struct: ingressClassV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["change", "object"] }, generation: true },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      const { controller: now = "" } = object.spec;
      const values = { now, before: old.spec.controller ?? "" };
      mustNotChange(problems, Path.of("spec.controller"), values);
      validate(object, problems);
    },
  },
  columns: [
    nameColumn,
    column("Controller", "Controller that serves the class."),
    column("Parameters", "Object with further settings for the controller."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.controller ?? "",
    describe(object.spec.parameters),
    ageOf(object, context),
  ],
});
