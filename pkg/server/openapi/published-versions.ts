/** Group versions that OpenAPI lists for the kinds of every group, such as DeleteOptions. */
import { memoize } from "#base";
import { type Domain, resolve } from "#meta";

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Group versions that kube-apiserver 1.34 registers, served or not. */
const registered = `
  admission.{api} v1 v1beta1
  admissionregistration.{api} v1 v1alpha1 v1beta1
  apiextensions.{api} v1 v1beta1
  apiregistration.{api} v1 v1beta1
  apps v1 v1beta1 v1beta2
  authentication.{api} v1 v1alpha1 v1beta1
  authorization.{api} v1 v1beta1
  autoscaling v1 v2 v2beta1 v2beta2
  batch v1 v1beta1
  certificates.{api} v1 v1alpha1 v1beta1
  coordination.{api} v1 v1alpha2 v1beta1
  discovery.{api} v1 v1beta1
  events.{api} v1 v1beta1
  extensions v1beta1
  flowcontrol.apiserver.{api} v1 v1beta1 v1beta2 v1beta3
  imagepolicy.{api} v1alpha1
  internal.apiserver.{api} v1alpha1
  networking.{api} v1 v1beta1
  node.{api} v1 v1alpha1 v1beta1
  policy v1 v1beta1
  rbac.authorization.{api} v1 v1alpha1 v1beta1
  resource.{api} v1 v1alpha3 v1beta1 v1beta2
  scheduling.{api} v1 v1alpha1 v1beta1
  storage.{api} v1 v1alpha1 v1beta1
  storagemigration.{api} v1alpha1`;

/** The registered group versions: core first, then by name. */
export const publishedVersions = memoize((domain: Domain): readonly GroupVersion[] => [
  { group: "", version: "v1" },
  ...resolve(registered, domain)
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [group = "", ...versions] = line.trim().split(" ");
      return versions.map((version) => ({ group, version }));
    }),
]);
