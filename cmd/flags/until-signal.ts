/**
 * Returns a signal that aborts on SIGTERM or SIGINT. A second one of them exits the process
 * immediately.
 */
export function untilSignal(): AbortSignal {
  const life = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      life.abort();
      process.once(signal, () => process.exit(1));
    });
  }
  return life.signal;
}
