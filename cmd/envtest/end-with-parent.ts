const intervalMs = 1_000;

/**
 * Sends SIGTERM to this process when its parent exits, so that a test suite which panics or does
 * not stop its environment leaves no process behind. KEELSON_ENVTEST_KEEP=true disables this.
 */
export function endWithParent(): void {
  if (process.env["KEELSON_ENVTEST_KEEP"] === "true") return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, intervalMs);
  timer.unref();
}
