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
// A cluster for local use has a default StorageClass; a flag of the user comes later and wins.
const { argv } = process;
if (argv[2] === undefined || argv[2].startsWith("-"))
  argv.splice(2, 0, "--default-storage-class=standard");
await import(pathToFileURL(program).href);
