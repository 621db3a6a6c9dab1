#!/usr/bin/env node
import { enableCodeCache } from "./code-cache.ts";

// A single executable is CommonJS, which has no await outside of functions.
void run();

async function run(): Promise<void> {
  enableCodeCache();
  // Imported only now: the code cache applies to what is imported after it is enabled.
  const { runCommandLine } = await import("./command-line.ts");
  await runCommandLine(process.argv.slice(2));
}
