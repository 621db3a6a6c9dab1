import { type Infer, pointer, Path, value, type Problems, string, structs } from "#schema";
import { isDns1123Subdomain, isPathSegmentName, kind, objectMeta } from "#meta";
import { ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach, mustNotChange, same } from "../strategy.ts";
import { checkAddress } from "./ip.ts";

/** Struct of one version; both versions have the same fields. */
function ipAddressIn(version: "v1" | "v1beta1") {
  const declare = structs(`api/networking/${version}`);
  const parentReference = declare(
    "ParentReference",
    "Reference to the parent object of an IP address.",
    {
      group: value(1, string, "API group of the referenced object. Empty for the core group."),
      resource: value(
        2,
        string,
        "Resource of the referenced object in lowercase plural, for example `services`. Required.",
        { openApi: { required: true } },
      ),
      namespace: value(
        3,
        string,
        "Namespace of the referenced object. Empty for cluster-scoped objects.",
      ),
      name: value(4, string, "Name of the referenced object. Required.", {
        openApi: { required: true },
      }),
    },
  );

  const ipAddressSpec = declare("IPAddressSpec", "Attributes of an allocated IP address.", {
    parentRef: pointer(
      1,
      parentReference,
      "Reference to the object that the address is attached to. Required. Immutable.",
      { openApi: { required: true } },
    ),
  });

  return declare(
    "IPAddress",
    "IPAddress represents an allocated IP address of a Service. Usually the API server creates " +
      "and deletes it with the Service.",
    {
      metadata: value(
        1,
        objectMeta,
        "Standard object metadata. The name is the address in canonical form.",
      ),
      spec: value(2, ipAddressSpec, "Object that the address is allocated to."),
    },
  );
}

const ipAddressV1 = ipAddressIn("v1");

type IPAddress = Infer<typeof ipAddressV1>;
type Parent = IPAddress["spec"]["parentRef"];

const path = Path.of("spec.parentRef");

function validate({ spec: { parentRef } }: IPAddress, problems: Problems): void {
  if (parentRef === undefined) return problems.required(path);
  const { group, resource, name, namespace } = parentRef;
  const check = (field: string, value: string, messages: readonly string[]) =>
    invalidEach(problems, path.child(field), { value, messages });
  if (group) check("group", group, isDns1123Subdomain(group));
  if (resource) check("resource", resource, isPathSegmentName(resource));
  else problems.required(path.child("resource"));
  if (name) check("name", name, isPathSegmentName(name));
  else problems.required(path.child("name"));
  if (namespace) check("namespace", namespace, isPathSegmentName(namespace));
}

/** A reference with the field names of Go's struct, as Kubernetes prints it. */
function goParentReference(parent: Parent): unknown {
  if (parent === undefined) return null;
  return {
    Group: parent.group ?? "",
    Resource: parent.resource ?? "",
    Namespace: parent.namespace ?? "",
    Name: parent.name ?? "",
  };
}

/** Table cell of the parent: `services/default/web`, `things.example.com/x`. */
function describe(parent: Parent): string {
  if (parent === undefined) return "<none>";
  const { group, resource = "", namespace, name = "" } = parent;
  const resourceName = (group ? `${resource}.${group}` : resource).toLowerCase();
  return [resourceName, ...(namespace ? [namespace] : []), name].join("/");
}

export const ipAddress = kind(ipAddressV1, {
  group: "networking.{api}",
  kind: "IPAddress",
  plural: "ipaddresses",
  shortNames: ["ip"],
  scope: "Cluster",
  versions: [
    { version: "v1", struct: ipAddressV1, onByDefault: true, convert: "hub" },
    {
      version: "v1beta1",
      struct: ipAddressIn("v1beta1"),
      onByDefault: false,
      convert: same,
      deprecationWarning:
        "networking.{api}/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+",
    },
  ],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    name: checkAddress,
    unchangedGenerateName: true,
  },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      const { parentRef } = object.spec;
      const values = {
        now: parentRef,
        before: old.spec.parentRef,
        shown: goParentReference(parentRef),
      };
      validate(object, problems);
      mustNotChange(problems, path, values);
    },
  },
  columns: [nameColumn, column("ParentRef", "Object that the address is allocated to.")],
  // One more cell than there are columns, as in Kubernetes.
  row: (object, context) => [
    nameOf(object),
    describe(object.spec.parentRef),
    ageOf(object, context),
  ],
});
