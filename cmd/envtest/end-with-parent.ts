const intervalMs = 1_000;

/**
 * Sends SIGTERM to this process once its parent has ended: a suite that panics, or that forgets to
 * stop its environment, leaves nothing behind. KEELSON_ENVTEST_KEEP=true turns this off.
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
