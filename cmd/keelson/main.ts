#!/usr/bin/env node
import { enableCodeCache } from "./code-cache.ts";

// A single executable is CommonJS, which has no top-level await.
void run();

async function run(): Promise<void> {
  enableCodeCache();
  // Imported only now, because the code cache applies to modules that are imported after it is
  // enabled.
  const { runCommandLine } = await import("./command-line.ts");
  await runCommandLine(process.argv.slice(2));
}
