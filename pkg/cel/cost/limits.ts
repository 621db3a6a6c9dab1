/** Cost limits of Kubernetes, in cost units. */
export const costLimits = {
  /** What one rule of a custom resource's schema may cost by estimate. */
  estimatedRule: 10_000_000,
  /** The same for all rules of a schema together. */
  estimatedSchema: 100_000_000,
  /** What one evaluation may spend. */
  call: 1_000_000,
  /** What all rules of one object, or all validations of one policy, may spend together. */
  object: 10_000_000,
  /** The same for the match conditions of one webhook or policy. */
  matchConditions: 2_500_000,
} as const;
