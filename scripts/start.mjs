// `npm start`: installs and builds if needed, then serves in this process.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { onPinnedNode } from "./runtime.mjs";
import { ensureBuilt, ensureInstalled, root } from "./setup.mjs";

await onPinnedNode();
ensureInstalled();
await ensureBuilt();
const program = path.join(root, "dist", "keelson.js");
process.argv[1] = program;
// A local cluster has a default StorageClass; flags of the user follow this one and override it.
const { argv } = process;
if (argv[2] === undefined || argv[2].startsWith("-")) {
  argv.splice(2, 0, "--default-storage-class=standard");
}
await import(pathToFileURL(program).href);
