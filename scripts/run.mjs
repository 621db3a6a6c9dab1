// `node scripts/run.mjs FILE [ARGS]`: runs a TypeScript program, such as a benchmark, on the pinned Node.
import { onPinnedNode, runInstead } from "./runtime.mjs";
import { ensureBuilt, ensureInstalled } from "./setup.mjs";

await onPinnedNode();
ensureInstalled();
await ensureBuilt();
const flags = ["--expose-gc", "--conditions=source", "--import=tsx"];
await runInstead(process.execPath, [...flags, ...process.argv.slice(2)]);
