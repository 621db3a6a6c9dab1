/** Cost limits of Kubernetes, in cost units. */
export const costLimits = {
  /** Estimated cost limit of one rule of a custom resource's schema. */
  estimatedRule: 10_000_000,
  /** Estimated cost limit of all rules of a schema. */
  estimatedSchema: 100_000_000,
  /** Runtime cost limit of one evaluation. */
  call: 1_000_000,
  /** Runtime cost budget of all rules of one object, or all validations of one policy. */
  object: 10_000_000,
  /** Runtime cost budget of the match conditions of one webhook or policy. */
  matchConditions: 2_500_000,
} as const;
