/** Combines errors; the message lists each distinct message once, like Kubernetes' aggregate errors. */
export function combinedError(failures: readonly unknown[]): unknown {
  if (failures.length === 1) return failures[0];
  const messages = new Set(failures.map((each) => (each as Error).message));
  const text = [...messages].join(", ");
  return new AggregateError(failures, messages.size === 1 ? text : `[${text}]`);
}
