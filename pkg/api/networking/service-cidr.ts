import { type Infer, list, Path, value, type Problems, string, structs, mergedBy } from "#schema";
import { condition, kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { fieldImmutableMessage, invalidEach, same } from "../strategy.ts";
import { networkOf, parseCidr } from "#base";
import { checkNetwork } from "./ip.ts";

/** Struct of one version; all versions have the same fields. */
function structOf(version: string) {
  const declare = structs(`api/networking/${version}`);
  const spec = declare("ServiceCIDRSpec", "IP ranges of a ServiceCIDR.", {
    cidrs: value(
      1,
      list(string),
      "IP ranges in CIDR notation, at most one per IP family. Immutable, except that a range " +
        "of a second family can be added.",
      {
        listType: "atomic",
      },
    ),
  });
  const status = declare("ServiceCIDRStatus", "Observed state of a ServiceCIDR.", {
    conditions: value(
      1,
      list(condition),
      "Latest observed conditions. Ready tells whether the ranges can be used to allocate " +
        "cluster IPs.",
      mergedBy("type"),
    ),
  });
  return declare(
    "ServiceCIDR",
    "ServiceCIDR defines IP ranges from which the cluster IPs of Services are allocated, in " +
      "addition to those of other ServiceCIDRs.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "IP ranges to allocate cluster IPs from."),
      status: value(3, status, "Conditions reported by the ServiceCIDR controller. Read-only."),
    },
  );
}

const serviceCidrV1 = structOf("v1");
const serviceCidrV1beta1 = structOf("v1beta1");

type ServiceCIDR = Infer<typeof serviceCidrV1>;

const path = Path.of("spec.cidrs");

/** Length of addresses in bytes; undefined for text that is not a CIDR value. */
function familyOf(text: string): number | undefined {
  const cidr = parseCidr(text);
  return cidr && networkOf(cidr).address.length;
}

function checkFamilies(cidrs: readonly string[], problems: Problems): void {
  const sizes = cidrs.map((cidr) => familyOf(cidr));
  if (sizes.length !== 2 || sizes.includes(undefined) || sizes[0] !== sizes[1]) return;
  const detail = "may specify no more than one IP for each IP family";
  problems.invalid(path, cidrs, `${detail}, i.e 192.168.0.0/24 and 2001:db8::/64`);
}

function validate({ spec: { cidrs = [] } }: ServiceCIDR, problems: Problems): void {
  if (cidrs.length === 0) return problems.required(path, "at least one CIDR required");
  // The reported value is the complete spec, formatted as Go's struct.
  if (cidrs.length > 2)
    return problems.invalid(path, { CIDRs: cidrs }, "may only hold up to 2 values");
  for (const [index, cidr] of cidrs.entries()) {
    invalidEach(problems, path.index(index), { value: cidr, messages: checkNetwork(cidr) });
  }
  checkFamilies(cidrs, problems);
}

/** Allows a second family to be added; rejects other changes. */
function validateChange(object: ServiceCIDR, old: ServiceCIDR, problems: Problems): void {
  const [now, before] = [object.spec.cidrs ?? [], old.spec.cidrs ?? []];
  const grows = before.length === 1 && now.length === 2;
  if (!grows && now.length !== before.length)
    return problems.invalid(path, now, fieldImmutableMessage);
  for (const [index, cidr] of before.entries()) {
    if (now[index] !== cidr) problems.invalid(path.index(index), now[index], fieldImmutableMessage);
  }
  if (grows) validate(object, problems);
}

export const serviceCidr = kind(serviceCidrV1, {
  group: "networking.{api}",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  scope: "Cluster",
  versions: [
    { version: "v1", struct: serviceCidrV1, onByDefault: true, convert: "hub" },
    {
      version: "v1beta1",
      struct: serviceCidrV1beta1,
      onByDefault: false,
      convert: same,
      deprecationWarning:
        "networking.{api}/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+",
    },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  // Kubernetes' strategies name the reset fields of an API group that does not exist, "networking".
  rules: { resets: { "": [], status: [] } },
  hooks: {
    // Kubernetes resets the status neither on creates nor on updates of the main resource.
    prepareUpdate: (object, old, { subresource }) => {
      if (subresource === "status") object.spec = old.spec;
    },
    validate,
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "") validateChange(object, old, problems);
    },
  },
  columns: [nameColumn, column("CIDRs", "IP ranges to allocate cluster IPs from."), ageColumn],
  row: (object, context) => [
    nameOf(object),
    (object.spec.cidrs ?? []).join(","),
    ageOf(object, context),
  ],
});
