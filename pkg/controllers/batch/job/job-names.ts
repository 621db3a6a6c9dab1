import { type Domain, resolve } from "#meta";

/** Finalizer, labels and annotations of the Job controller. */
export interface JobNames {
  /** Finalizer of pods whose finish is not counted yet. */
  readonly trackingFinalizer: string;
  /** Annotation and label with the index of a pod. */
  readonly completionIndex: string;
  /** Annotation with the number of failures of the index before this pod. */
  readonly indexFailureCount: string;
  /** Annotation with the number of failures that the pod failure policy ignored. */
  readonly indexIgnoredFailureCount: string;
  /** Value of `spec.managedBy` that means this controller. */
  readonly controllerName: string;
}

export function jobNames(domain: Domain): JobNames {
  const name = (template: string) => resolve(template, domain);
  return {
    trackingFinalizer: name("batch.{label}/job-tracking"),
    completionIndex: name("batch.{label}/job-completion-index"),
    indexFailureCount: name("batch.{label}/job-index-failure-count"),
    indexIgnoredFailureCount: name("batch.{label}/job-index-ignored-failure-count"),
    controllerName: name("{label}/job-controller"),
  };
}
