/** A signal that aborts on SIGTERM or SIGINT; a second one of them ends the process at once. */
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
