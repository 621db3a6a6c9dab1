// `npm run build`: writes the bundle, the package's type declarations and the man page.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { ensureBuilt, ensureInstalled, root, run } from "./setup.mjs";
import path from "node:path";

ensureInstalled();
await ensureBuilt();
run(path.join(root, "node_modules", ".bin", "tsc"), ["-p", "tsconfig.build.json"]);
const man = path.join(root, "dist", "man", "keelson.1");
mkdirSync(path.dirname(man), { recursive: true });
const program = path.join(root, "dist", "keelson.js");
writeFileSync(man, execFileSync(process.execPath, [program, "help", "man"]));
